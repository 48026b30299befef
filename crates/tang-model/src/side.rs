//! The sides that the network is cut into.

use std::ops::Range;

/// A part of every layer that needs nothing of the other parts but a sum at its end (Shoeybi et al.,
/// *Megatron-LM*, 2019): some heads of attention, and some columns between the two matrices of a
/// feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Side {
    /// Which one.
    pub(crate) index: usize,
    /// Of so many.
    pub(crate) count: usize,
}

impl Side {
    /// All of the network.
    pub(crate) const WHOLE: Self = Self { index: 0, count: 1 };

    /// Two halves.
    pub(crate) const TWO: [Self; 2] = [Self { index: 0, count: 2 }, Self { index: 1, count: 2 }];

    /// Its part of `length` things, in whole groups of `group`, of which the last side may lack some.
    pub(crate) fn part(self, length: usize, group: usize) -> Range<usize> {
        let size = length.div_ceil(self.count).next_multiple_of(group);
        let place = |index: usize| (index * size).min(length);
        place(self.index)..place(self.index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once() {
        for length in [1, 2, 3, 50, 384, 512] {
            for group in [1, 16] {
                let [first, second] = Side::TWO.map(|side| side.part(length, group));
                assert_eq!((first.start, second.end), (0, length));
                assert_eq!(first.end, second.start);
                assert!(first.len() >= second.len() && first.len() < second.len() + 2 * group);
                assert!(first.end == length || first.end.is_multiple_of(group));
                assert_eq!(Side::WHOLE.part(length, group), 0..length);
            }
        }
    }
}
