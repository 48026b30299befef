//! The largest of many values.

use pulp::{Arch, Simd, WithSimd};

use super::lanes::LANES;

/// Values of a group, of which the largest is taken first.
const GROUP: usize = 32;

/// The places of the `count` largest values, in order, and of some others: of all that are as large as
/// the last of these, or would be if all were divided by the same number. Of `count` values or less,
/// every place.
///
/// The `count`-th largest of the maxima of groups is a bound: so many values reach it. Few others do.
pub fn largest(values: &[f32], count: usize) -> Vec<u32> {
    Arch::new().dispatch(Largest { values, count })
}

struct Largest<'a> {
    values: &'a [f32],
    count: usize,
}

impl WithSimd for Largest<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<u32> {
        let bound = bound(self.values, self.count);
        let mut places = Vec::with_capacity(self.values.len().min(self.count.saturating_mul(2)));
        let mut look = |from: usize, values: &[f32]| {
            let found = values
                .iter()
                .zip(from as u32..)
                .filter(|(v, _)| **v >= bound);
            places.extend(found.map(|(_, place)| place));
        };
        let (chunks, rest) = self.values.as_chunks::<LANES>();
        for (index, chunk) in chunks.iter().enumerate() {
            // Without a way out early, which would keep the compiler from vectors.
            if chunk.iter().fold(false, |any, v| any | (*v >= bound)) {
                look(index * LANES, chunk);
            }
        }
        look(chunks.len() * LANES, rest);
        places
    }
}

/// What at least `count` values reach; minus infinity if it is not known.
#[inline(always)]
fn bound(values: &[f32], count: usize) -> f32 {
    let mut maxima = Vec::with_capacity((values.len() / GROUP).next_multiple_of(LANES) + LANES);
    for block in values.chunks(GROUP * LANES) {
        let (chunks, rest) = block.as_chunks::<LANES>();
        let mut lanes = [f32::NEG_INFINITY; LANES];
        for chunk in chunks {
            for (lane, value) in lanes.iter_mut().zip(chunk) {
                *lane = if *value > *lane { *value } else { *lane };
            }
        }
        for (lane, value) in lanes.iter_mut().zip(rest) {
            *lane = if *value > *lane { *value } else { *lane };
        }
        maxima.extend_from_slice(&lanes);
    }
    if count == 0 || count > maxima.len() {
        return f32::NEG_INFINITY;
    }
    let (_, bound, _) = maxima.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
    // Numbers nearer to each other than this can have one quotient.
    *bound - bound.abs() * 4.0 * f32::EPSILON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_is_missing_and_few_are_too_many() {
        for length in [1, 31, 32, 33, 1000, 6289] {
            let values: Vec<f32> = (0..length)
                .map(|i| ((i * i) as f32 * 0.7).sin() * 9.0)
                .collect();
            let mut sorted: Vec<u32> = (0..length as u32).collect();
            sorted.sort_by(|a, b| values[*b as usize].total_cmp(&values[*a as usize]));
            for count in [1, 2, 50, 1000, 10_000] {
                let found = largest(&values, count);
                assert!(found.is_sorted());
                let wanted = &sorted[..count.min(length)];
                assert!(
                    wanted.iter().all(|place| found.contains(place)),
                    "{count} of {length}"
                );
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
