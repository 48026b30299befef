//! Matrices in the layouts that products of tiles read.

use pulp::Simd;

use super::tile::{COLUMNS, ROWS, Rows, product};

/// A matrix with room for whole tiles, and the number of its columns so padded.
pub(crate) struct Matrix {
    pub values: Vec<f32>,
    pub stride: usize,
}

impl Matrix {
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        let stride = columns.next_multiple_of(COLUMNS);
        let rows = rows.next_multiple_of(COLUMNS);
        Self {
            values: vec![0.0; rows * stride],
            stride,
        }
    }

    /// The first `rows` rows, from `column` on.
    #[inline(always)]
    pub(crate) fn rows(&self, from: usize, rows: usize, column: usize) -> Rows<'_> {
        Rows {
            values: &self.values[from * self.stride + column..(from + rows) * self.stride],
            stride: self.stride,
        }
    }

    /// Sets the first [`ROWS`] rows to left^T right, which has as many columns.
    #[inline(always)]
    pub(crate) fn set_product<S: Simd>(&mut self, simd: S, left: Rows<'_>, right: Rows<'_>) {
        product(
            simd,
            left,
            right,
            self.stride,
            &mut self.values,
            self.stride,
        );
    }

    /// Takes over columns `[start, start + width)` of `rows` rows of `source`, times `factor`.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        source: &[f32],
        columns: usize,
        start: usize,
        width: usize,
        factor: f32,
    ) {
        let rows = self.values.chunks_exact_mut(self.stride);
        for (row, source) in rows.zip(source.chunks_exact(columns)) {
            for (to, from) in row.iter_mut().zip(&source[start..start + width]) {
                *to = from * factor;
            }
        }
    }

    /// As [`take`](Self::take), transposed.
    #[inline(always)]
    pub(crate) fn take_transposed(
        &mut self,
        source: &[f32],
        columns: usize,
        start: usize,
        width: usize,
        factor: f32,
    ) {
        for (i, source) in source.chunks_exact(columns).enumerate() {
            let column = self.values[i..].iter_mut().step_by(self.stride);
            for (to, from) in column.zip(&source[start..start + width]) {
                *to = from * factor;
            }
        }
    }
}

/// Transposes `ROWS` rows of `stride` numbers, the first `columns` of each.
#[inline(always)]
pub(crate) fn transpose(rows: &[f32], stride: usize, columns: usize, out: &mut [f32]) {
    for (r, row) in rows.chunks_exact(stride).enumerate() {
        for (to, from) in out[r..].iter_mut().step_by(ROWS).zip(&row[..columns]) {
            *to = *from;
        }
    }
}
