//! Sums and largest values along a slice, in lanes.
//!
//! The order of additions is fixed by the number of lanes, not by the processor, so that every
//! machine adds up to the same digits.

/// Lanes that are folded apart from each other.
pub(crate) const LANES: usize = 32;

/// lane[i % LANES] = join(lane[i % LANES], a[i]), then the lanes into one value.
#[inline(always)]
fn fold(a: &[f32], start: f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = a.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, a) in lanes.iter_mut().zip(chunk) {
            *lane = join(*lane, *a);
        }
    }
    for (lane, a) in lanes.iter_mut().zip(rest) {
        *lane = join(*lane, *a);
    }
    lanes.into_iter().fold(start, &join)
}

/// The sum of all values.
#[inline(always)]
pub(crate) fn sum(a: &[f32]) -> f32 {
    fold(a, 0.0, |sum, a| sum + a)
}

/// The largest value; minus infinity for an empty slice. NaN is passed over.
#[inline(always)]
pub(crate) fn max(a: &[f32]) -> f32 {
    fold(a, f32::NEG_INFINITY, |max, a| if a > max { a } else { max })
}

/// The sum of `term` over pairs.
#[inline(always)]
pub(crate) fn sum_of(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += term(*a, *b);
        }
    }
    for (lane, (a, b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += term(*a, *b);
    }
    lanes.into_iter().sum()
}
