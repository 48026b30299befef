//! The largest of many values.

use super::{LANES, lane_maxima};
use crate::simd::vectorized;

/// Count of values per group: the bound is computed from the maximum of each group.
const GROUP: usize = 32;

/// Ascending indices of the `count` largest values, and of all values that can equal the smallest
/// of these after a division, which rounds; all indices if there are at most `count`. A few smaller
/// values may be among them.
///
/// The bound is the `count`-th largest of the group maxima: at least `count` values reach it, and
/// few more.
pub fn largest(values: &[f32], count: usize) -> Vec<u32> {
    vectorized!({
        let bound = bound(values, count);
        let mut indices = Vec::with_capacity(values.len().min(count.saturating_mul(2)));
        let (chunks, rest) = values.as_chunks::<LANES>();
        for (index, chunk) in chunks.iter().enumerate() {
            // No early exit, so that the compiler can vectorise the loop.
            if chunk.iter().fold(false, |any, v| any | (*v >= bound)) {
                push_reaching(bound, index * LANES, chunk, &mut indices);
            }
        }
        push_reaching(bound, chunks.len() * LANES, rest, &mut indices);
        indices
    })
}

/// Appends the indices of the values that reach the bound, from `first` on.
#[inline(always)]
fn push_reaching(bound: f32, first: usize, values: &[f32], indices: &mut Vec<u32>) {
    let reaching = (first as u32..).zip(values).filter(|(_, v)| **v >= bound);
    indices.extend(reaching.map(|(index, _)| index));
}

/// A bound that at least `count` values reach; minus infinity if there are fewer groups.
#[inline(always)]
fn bound(values: &[f32], count: usize) -> f32 {
    let mut maxima = Vec::with_capacity(values.len() / GROUP + LANES);
    for groups in values.chunks(GROUP * LANES) {
        maxima.extend_from_slice(&lane_maxima(groups));
    }
    if count == 0 || count > maxima.len() {
        return f32::NEG_INFINITY;
    }
    let (_, bound, _) = maxima.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
    // Two numbers closer than this can have the same quotient.
    *bound - bound.abs() * 4.0 * f32::EPSILON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_is_missing_and_few_are_too_many() {
        for length in [1, 31, 32, 33, 1000, 6289] {
            let values: Vec<f32> =
                (0..length).map(|i| ((i * i) as f32 * 0.7).sin() * 9.0).collect();
            let mut sorted: Vec<u32> = (0..length as u32).collect();
            sorted.sort_by(|a, b| values[*b as usize].total_cmp(&values[*a as usize]));
            for count in [1, 2, 50, 1000, 10_000] {
                let found = largest(&values, count);
                assert!(found.is_sorted());
                let wanted = &sorted[..count.min(length)];
                assert!(wanted.iter().all(|place| found.contains(place)), "{count} of {length}");
            }
        }
        let values: Vec<f32> = (0..6289).map(|i| ((i * i) as f32 * 0.7).sin()).collect();
        assert!(largest(&values, 50).len() < 100);
    }

    #[test]
    fn equal_values_all_stay() {
        let mut values = vec![0.0; 5000];
        values[4321] = 1.0;
        assert_eq!(largest(&values, 1), [4321]);
        assert_eq!(largest(&values, 2).len(), 5000);
        // Next to each other.
        let near = [0.91_f32, f32::from_bits(0.91_f32.to_bits() - 1)];
        values[..2].copy_from_slice(&near);
        values[4321] = 0.0;
        assert_eq!(largest(&values, 1), [0, 1]);
    }
}
