//! Reductions of slices: sums, maxima, losses.
//!
//! The order of additions is fixed by a count of lanes, not by the processor, so that every machine
//! adds up to the same digits; [`Dot`] alone sums in the vectors of the processor.

pub(crate) mod cross_entropy;
pub(crate) mod largest;
pub(crate) mod log_sum_exp;
pub(crate) mod rows;
pub(crate) mod stream_sum;

use pulp::{Simd, WithSimd};

use crate::pointwise::exp;

/// Count of independent accumulators of floats.
pub(crate) const LANES: usize = 32;

/// Count of independent accumulators of vectors, which hide the latency of an addition.
pub(crate) const CHAINS: usize = 4;

/// The sum over i of a[i]: lane[i % LANES] += a[i], then the sum of the lanes.
#[inline(always)]
pub(crate) fn sum(a: &[f32]) -> f32 {
    fold_lanes(a, 0.0, |sum, a| sum + a).into_iter().sum()
}

/// The largest a[i]; minus infinity for an empty slice. NaN is ignored.
#[inline(always)]
pub(crate) fn max(a: &[f32]) -> f32 {
    lane_maxima(a).into_iter().fold(f32::NEG_INFINITY, larger)
}

/// maxima[l] = the largest of a[l], a[l + LANES], a[l + 2 LANES], ...; NaN is ignored.
#[inline(always)]
pub(crate) fn lane_maxima(a: &[f32]) -> [f32; LANES] {
    fold_lanes(a, f32::NEG_INFINITY, larger)
}

/// Not `f32::max`, which costs more instructions.
#[inline(always)]
fn larger(max: f32, a: f32) -> f32 {
    if a > max { a } else { max }
}

/// lane[i % LANES] = join(lane[i % LANES], a[i]).
#[inline(always)]
fn fold_lanes(a: &[f32], start: f32, join: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
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
    lanes
}

/// The sum over i of term(a[i], b[i]): lane[i % LANES] += term(a[i], b[i]), then the sum of the lanes.
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

/// x[i] = factor e^(x[i] - max) / sum; returns max, the largest x[i], and sum, that of all e^(x[i] - max).
#[inline(always)]
pub(crate) fn softmax(x: &mut [f32], factor: f32) -> (f32, f32) {
    let max = max(x);
    for x in x.iter_mut() {
        *x = exp(*x - max);
    }
    let sum = sum(x);
    let factor = factor / sum;
    for x in x {
        *x *= factor;
    }
    (max, sum)
}

/// The sum over i of a[i] b[i].
pub(crate) struct Dot<'a>(pub &'a [f32], pub &'a [f32]);

impl WithSimd for Dot<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (a, a_rest) = S::as_simd_f32s(self.0);
        let (b, b_rest) = S::as_simd_f32s(self.1);
        let mut sums = [simd.splat_f32s(0.0); CHAINS];
        let (a_blocks, b_blocks) = (a.chunks_exact(CHAINS), b.chunks_exact(CHAINS));
        let left_over = a_blocks.remainder().iter().zip(b_blocks.remainder());
        for (sum, (a, b)) in sums.iter_mut().zip(left_over) {
            *sum = simd.mul_f32s(*a, *b);
        }
        for (a, b) in a_blocks.zip(b_blocks) {
            for i in 0..CHAINS {
                sums[i] = simd.mul_add_e_f32s(a[i], b[i], sums[i]);
            }
        }
        let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
        simd.reduce_sum_f32s(total(simd, sums)) + rest
    }
}

/// The sum of the accumulators of [`CHAINS`].
#[inline(always)]
pub(crate) fn total<S: Simd>(simd: S, [a, b, c, d]: [S::f32s; CHAINS]) -> S::f32s {
    simd.add_f32s(simd.add_f32s(a, b), simd.add_f32s(c, d))
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar};

    use super::*;

    #[test]
    fn every_length_and_processor_gives_the_same() {
        for length in 0..150_usize {
            let a: Vec<f32> = (0..length).map(|i| (i as f32 * 0.7).sin()).collect();
            let b: Vec<f32> = (0..length).map(|i| (i as f32 * 1.3).cos()).collect();
            let wanted: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let fast = Arch::new().dispatch(Dot(&a, &b));
            let slow = Dot(&a, &b).with_simd(Scalar);
            for got in [fast, slow] {
                assert!((got - wanted).abs() < 1e-5, "{length}: {got} {wanted}");
            }
        }
    }
}
