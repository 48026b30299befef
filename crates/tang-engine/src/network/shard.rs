//! The two shards of every layer.

use std::ops::Range;

/// Count of shards.
pub(crate) const SHARDS: usize = 2;

/// The range of `length` heads or columns that shard `index` has, in whole groups of `group`; the last group may be
/// smaller.
///
/// A shard has some heads of attention and some columns between the two matrices of a feed-forward
/// network; twice per layer an all-reduce adds their results (Shoeybi et al., *Megatron-LM*, 2019).
pub(crate) fn part(index: usize, length: usize, group: usize) -> Range<usize> {
    let size = length.div_ceil(SHARDS).next_multiple_of(group);
    let start = |index: usize| (index * size).min(length);
    start(index)..start(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once() {
        for length in [1, 2, 3, 50, 384, 512] {
            for group in [1, 16] {
                let [first, second] = [0, 1].map(|index| part(index, length, group));
                assert_eq!((first.start, second.end), (0, length));
                assert_eq!(first.end, second.start);
                assert!(first.len() >= second.len() && first.len() < second.len() + 2 * group);
                assert!(first.end == length || first.end.is_multiple_of(group));
            }
        }
    }
}
