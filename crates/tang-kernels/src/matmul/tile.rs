//! Products of small matrices that stay in the near caches.

use pulp::Simd;

/// Rows of a product that are computed together: with two vectors a row their sums fill half of
/// AVX-512's registers.
pub(crate) const ROWS: usize = 8;

/// Widths of right-hand sides and of products are a multiple of this: two of the widest vectors.
pub(crate) const COLUMNS: usize = 32;

/// Rows of numbers, `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub values: &'a [f32],
    pub stride: usize,
}

/// Computes the first `columns` columns of [`ROWS`] rows: out = left^T right.
///
/// # Shapes
///
/// - left: `[inner, at least ROWS]`
/// - right: `[inner, at least columns]`; as many rows as the shorter of the two are taken
/// - out: `[ROWS, at least columns]`, `stride` apart
#[inline(always)]
pub(crate) fn product<S: Simd>(
    simd: S,
    left: Rows<'_>,
    right: Rows<'_>,
    columns: usize,
    out: &mut [f32],
    stride: usize,
) {
    let width = 2 * S::F32_LANES;
    for start in (0..columns).step_by(width) {
        let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
        let pairs = left.values.chunks(left.stride);
        for (left, right) in pairs.zip(right.values.chunks(right.stride)) {
            let left: &[f32; ROWS] = left.first_chunk().expect("rows hold at least ROWS");
            let (right, _) = S::as_simd_f32s(&right[start..start + width]);
            let (first, second) = (right[0], right[1]);
            for (sums, left) in sums.iter_mut().zip(left) {
                let left = simd.splat_f32s(*left);
                sums[0] = simd.mul_add_f32s(left, first, sums[0]);
                sums[1] = simd.mul_add_f32s(left, second, sums[1]);
            }
        }
        for (sums, out) in sums.iter().zip(out.chunks_mut(stride)) {
            let (out, _) = S::as_mut_simd_f32s(&mut out[start..start + width]);
            out.copy_from_slice(sums);
        }
    }
}
