//! Products of matrices: of small ones that stay in the near caches, and of packed weights.

pub(crate) mod packed;

use pulp::{Arch, Simd, WithSimd};

/// Rows of a product that are computed together: with two vectors per row their sums fill half of
/// AVX-512's registers.
pub(crate) const ROWS: usize = 8;

/// Widths of right-hand sides and of products are a multiple of this: two of the widest vectors.
pub(crate) const COLUMNS: usize = 32;

/// A matrix with room for whole tiles: row i begins at `values[i * stride]`.
pub(crate) struct Matrix {
    pub values: Vec<f32>,
    pub stride: usize,
}

/// Rows of a matrix, `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub values: &'a [f32],
    pub stride: usize,
}

/// Some columns of a row-major matrix: those of a head.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub matrix: &'a [f32],
    /// Width of the whole matrix.
    pub stride: usize,
    pub start: usize,
    pub width: usize,
}

impl Matrix {
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        let stride = columns.next_multiple_of(COLUMNS);
        Self { values: vec![0.0; rows.next_multiple_of(COLUMNS) * stride], stride }
    }

    /// A view of `rows` rows from row `from` on, each from `column` on.
    #[inline(always)]
    pub(crate) fn rows(&self, from: usize, rows: usize, column: usize) -> Rows<'_> {
        Rows {
            values: &self.values[from * self.stride + column..(from + rows) * self.stride],
            stride: self.stride,
        }
    }

    /// Sets the first [`ROWS`] rows to left^T right.
    #[inline(always)]
    pub(crate) fn set_product(&mut self, arch: Arch, left: Rows<'_>, right: Rows<'_>) {
        let (columns, stride) = (self.stride, self.stride);
        product(arch, left, right, columns, &mut self.values, stride);
    }

    /// self[t, d] = factor source[t, start + d].
    #[inline(always)]
    pub(crate) fn copy(&mut self, source: Columns<'_>, factor: f32) {
        let rows = self.values.chunks_exact_mut(self.stride);
        for (row, source_row) in rows.zip(source.matrix.chunks_exact(source.stride)) {
            let from = &source_row[source.start..source.start + source.width];
            for (to, from) in row.iter_mut().zip(from) {
                *to = from * factor;
            }
        }
    }

    /// self[d, t] = factor source[t, start + d].
    #[inline(always)]
    pub(crate) fn copy_transposed(&mut self, source: Columns<'_>, factor: f32) {
        for (t, source_row) in source.matrix.chunks_exact(source.stride).enumerate() {
            let column = self.values[t..].iter_mut().step_by(self.stride);
            for (to, from) in column.zip(&source_row[source.start..source.start + source.width]) {
                *to = from * factor;
            }
        }
    }
}

/// out[c, r] = rows[r, c] for [`ROWS`] rows and the first `columns` columns.
#[inline(always)]
pub(crate) fn transpose(rows: &[f32], stride: usize, columns: usize, out: &mut [f32]) {
    for (r, row) in rows.chunks_exact(stride).enumerate() {
        for (to, from) in out[r..].iter_mut().step_by(ROWS).zip(&row[..columns]) {
            *to = *from;
        }
    }
}

/// out[r, j] = sum over i of left[i, r] right[i, j], for [`ROWS`] rows r and the first `columns` columns j.
///
/// # Shapes
///
/// - left: `[inner, at least ROWS]`
/// - right: `[inner, at least columns]`; `inner` is that of the shorter of the two
/// - out: `[ROWS, at least columns]`, `stride` apart
#[inline(always)]
pub(crate) fn product(
    arch: Arch,
    left: Rows<'_>,
    right: Rows<'_>,
    columns: usize,
    out: &mut [f32],
    stride: usize,
) {
    arch.dispatch(Product { left, right, columns, out, stride });
}

struct Product<'a, 'b> {
    left: Rows<'a>,
    right: Rows<'a>,
    columns: usize,
    out: &'b mut [f32],
    stride: usize,
}

impl WithSimd for Product<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = 2 * S::F32_LANES;
        for start in (0..self.columns).step_by(width) {
            let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
            let left_rows = self.left.values.chunks(self.left.stride);
            let right_rows = self.right.values.chunks(self.right.stride);
            for (left, right) in left_rows.zip(right_rows) {
                let left: &[f32; ROWS] = left.first_chunk().expect("at least ROWS columns");
                let (right, _) = S::as_simd_f32s(&right[start..start + width]);
                let (first, second) = (right[0], right[1]);
                for (sums, left) in sums.iter_mut().zip(left) {
                    let left = simd.splat_f32s(*left);
                    sums[0] = simd.mul_add_f32s(left, first, sums[0]);
                    sums[1] = simd.mul_add_f32s(left, second, sums[1]);
                }
            }
            for (sums, out) in sums.iter().zip(self.out.chunks_mut(self.stride)) {
                let (out, _) = S::as_mut_simd_f32s(&mut out[start..start + width]);
                out.copy_from_slice(sums);
            }
        }
    }
}
