//! Products and sums of two rows of numbers: what all other kernels are made of.

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

/// The sum of `a[i] b[i]` for each `a` and `b`.
#[inline(always)]
pub(crate) fn dots<S: Simd, const A: usize, const B: usize>(
    simd: S,
    a: [&[f32]; A],
    b: [&[f32]; B],
) -> [[f32; B]; A] {
    // Loops and no closures: arrays that go through a closure leave the registers.
    let vectors = a[0].len() / S::F32_LANES;
    let mut sums = [[simd.splat_f32s(0.0); B]; A];
    let mut a_vectors: [&[S::f32s]; A] = [&[]; A];
    let mut b_vectors: [&[S::f32s]; B] = [&[]; B];
    for row in 0..A {
        a_vectors[row] = &S::as_simd_f32s(a[row]).0[..vectors];
    }
    for column in 0..B {
        b_vectors[column] = &S::as_simd_f32s(b[column]).0[..vectors];
    }
    for i in 0..vectors {
        for row in 0..A {
            for column in 0..B {
                sums[row][column] =
                    simd.mul_add_e_f32s(a_vectors[row][i], b_vectors[column][i], sums[row][column]);
            }
        }
    }
    let mut products = [[0.0; B]; A];
    for row in 0..A {
        for column in 0..B {
            let mut product = simd.reduce_sum_f32s(sums[row][column]);
            for i in vectors * S::F32_LANES..a[row].len() {
                product += a[row][i] * b[column][i];
            }
            products[row][column] = product;
        }
    }
    products
}

/// Adds `factors[0] rows[0][i] + factors[1] rows[1][i] + ...` to `sum[i]`.
#[inline(always)]
pub(crate) fn add_scaled<S: Simd, const N: usize>(
    simd: S,
    factors: [f32; N],
    rows: [&[f32]; N],
    sum: &mut [f32],
) {
    let rest = sum.len() / S::F32_LANES * S::F32_LANES;
    let (sums, sums_rest) = S::as_mut_simd_f32s(sum);
    let mut vectors: [&[S::f32s]; N] = [&[]; N];
    let mut splat = [simd.splat_f32s(0.0); N];
    for n in 0..N {
        vectors[n] = &S::as_simd_f32s(rows[n]).0[..sums.len()];
        splat[n] = simd.splat_f32s(factors[n]);
    }
    for (i, sum) in sums.iter_mut().enumerate() {
        // Two chains, as each sum waits for the one before it.
        let mut chains = [*sum, simd.splat_f32s(0.0)];
        for n in 0..N {
            chains[n % 2] = simd.mul_add_e_f32s(vectors[n][i], splat[n], chains[n % 2]);
        }
        *sum = simd.add_f32s(chains[0], chains[1]);
    }
    for (i, sum) in sums_rest.iter_mut().enumerate() {
        for n in 0..N {
            *sum += rows[n][rest + i] * factors[n];
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar, WithSimd};

    use super::*;

    struct Both<'a>(&'a [f32], &'a [f32]);

    impl WithSimd for Both<'_> {
        type Output = ([f32; 2], Vec<f32>);

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let Self(a, b) = self;
            let mut sum = vec![1.0; a.len()];
            add_scaled(simd, [2.0, -1.0], [a, b], &mut sum);
            let [_, [product, _]] = dots(simd, [b, a], [b, a]);
            ([dot(simd, a, b), product], sum)
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
            for (products, sum) in [fast, slow] {
                for product in products {
                    assert!(
                        (product - wanted).abs() < 1e-5,
                        "{length}: {product} {wanted}"
                    );
                }
                for i in 0..length {
                    let wanted = 1.0 + 2.0 * a[i] - b[i];
                    assert!((sum[i] - wanted).abs() < 1e-5, "{length} at {i}");
                }
            }
        }
    }
}
