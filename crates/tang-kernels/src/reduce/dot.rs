//! The product of two rows of numbers.

use pulp::Simd;

/// Vectors that are summed apart from each other, since each sum waits for the one before it.
const CHAINS: usize = 4;

/// The sum of `a[i] b[i]`.
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = S::as_simd_f32s(a);
    let (b, b_rest) = S::as_simd_f32s(b);
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
    let [first, second, third, fourth] = sums;
    let sum = simd.add_f32s(simd.add_f32s(first, second), simd.add_f32s(third, fourth));
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    simd.reduce_sum_f32s(sum) + rest
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar, WithSimd};

    use super::*;

    struct Both<'a>(&'a [f32], &'a [f32]);

    impl WithSimd for Both<'_> {
        type Output = f32;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f32 {
            dot(simd, self.0, self.1)
        }
    }

    #[test]
    fn every_length_and_processor_gives_the_same() {
        for length in 0..150_usize {
            let a: Vec<f32> = (0..length).map(|i| (i as f32 * 0.7).sin()).collect();
            let b: Vec<f32> = (0..length).map(|i| (i as f32 * 1.3).cos()).collect();
            let wanted: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let fast = Arch::new().dispatch(Both(&a, &b));
            let slow = Both(&a, &b).with_simd(Scalar);
            for got in [fast, slow] {
                assert!((got - wanted).abs() < 1e-5, "{length}: {got} {wanted}");
            }
        }
    }
}
