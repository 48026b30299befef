//! A weight matrix in the layout that products read, and its product with rows.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::ROWS;
use crate::threads::{Threads, all_reduce::on_shards};

/// Columns of a panel: two of the widest vectors.
const PANEL: usize = super::COLUMNS;

/// Largest count of rows that are multiplied together, several panels at a time.
const FEW_ROWS: usize = 4;

/// A matrix `[inputs, columns]`, cut into panels of 32 columns.
///
/// Every output is one chain of fused multiply-adds over the inputs in their order, for any count of rows:
///
/// ```text
/// out[r, j] = fma(x[r, n - 1], w[n - 1, j], ... fma(x[r, 1], w[1, j], fma(x[r, 0], w[0, j], 0)))
/// ```
///
/// So the output of a row is the same bits alone and in any batch.
#[derive(Debug, Clone)]
pub struct PackedMatrix {
    /// `[panels, inputs, PANEL]`, the last panel filled up with zeros.
    values: Vec<f32>,
    inputs: usize,
    columns: usize,
}

impl PackedMatrix {
    /// Packs a matrix `[inputs, columns]`, row-major.
    ///
    /// # Panics
    ///
    /// If the matrix is not a whole number of rows.
    pub fn new(matrix: &[f32], inputs: usize) -> Self {
        let columns = matrix.len() / inputs;
        Self::pack(matrix.len(), inputs, |i, panel, to| {
            to.copy_from_slice(&matrix[i * columns..][panel]);
        })
    }

    /// Packs the transpose of a matrix `[columns, inputs]`, row-major.
    ///
    /// # Panics
    ///
    /// If the matrix is not a whole number of rows.
    pub fn transposed(matrix: &[f32], inputs: usize) -> Self {
        Self::pack(matrix.len(), inputs, |i, panel, to| {
            for (to, j) in to.iter_mut().zip(panel) {
                *to = matrix[j * inputs + i];
            }
        })
    }

    /// `copy` copies row i of the columns of a panel.
    fn pack(count: usize, inputs: usize, copy: impl Fn(usize, Range<usize>, &mut [f32])) -> Self {
        let columns = count / inputs;
        assert_eq!(count, inputs * columns, "a matrix of {inputs} inputs");
        let mut values = vec![0.0; columns.next_multiple_of(PANEL) * inputs];
        // values[p, i, c] = matrix[i, p PANEL + c]
        for (p, panel) in values.chunks_exact_mut(PANEL * inputs).enumerate() {
            let columns = p * PANEL..columns.min((p + 1) * PANEL);
            for (i, row) in panel.chunks_exact_mut(PANEL).enumerate() {
                copy(i, columns.clone(), &mut row[..columns.len()]);
            }
        }
        Self { values, inputs, columns }
    }

    /// Count of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Copies column `j`, `[inputs]`.
    pub fn copy_column(&self, j: usize, to: &mut [f32]) {
        let panel = &self.values[j / PANEL * PANEL * self.inputs..];
        // to[i] = w[i, j]
        for (to, from) in to.iter_mut().zip(panel[j % PANEL..].iter().step_by(PANEL)) {
            *to = *from;
        }
    }

    /// Rows times the matrix.
    ///
    /// # Shapes
    ///
    /// - rows: `[rows, inputs]`
    /// - output: `[rows, columns]`
    pub fn multiply(&self, rows: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; rows.len() / self.inputs * self.columns];
        self.multiply_on(Threads::ONE, rows, &mut out);
        out
    }

    /// Rows times the matrix, half of the columns on a second thread if there are several.
    ///
    /// # Shapes
    ///
    /// - rows: `[rows, inputs]`
    /// - out: `[rows, columns]`
    pub fn multiply_on(&self, threads: Threads, rows: &[f32], out: &mut [f32]) {
        let panel = PANEL * self.inputs;
        let middle = self.columns.div_ceil(2 * PANEL) * PANEL;
        let (first, second): (Vec<_>, Vec<_>) = out
            .chunks_exact_mut(self.columns)
            .map(|row| row.split_at_mut(middle.min(self.columns)))
            .unzip();
        let (before, after) = self.values.split_at(middle / PANEL * panel);
        let mut halves = [(before, first), (after, second)];
        let arch = Arch::new();
        let work = rows.len() * self.columns;
        on_shards(&mut halves, 0, work, threads, |halves, _| {
            for (panels, out) in halves {
                arch.dispatch(Multiply { panels, inputs: self.inputs, rows, out });
            }
        });
    }
}

struct Multiply<'a, 'b> {
    panels: &'a [f32],
    inputs: usize,
    rows: &'a [f32],
    out: &'a mut [&'b mut [f32]],
}

impl WithSimd for Multiply<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        match self.out.len() {
            0 => (),
            1 => self.few::<S, 1, 2>(simd),
            2 => self.few::<S, 2, 4>(simd),
            3 => self.few::<S, 3, 2>(simd),
            FEW_ROWS => self.few::<S, FEW_ROWS, 2>(simd),
            _ => self.many(simd),
        }
    }
}

impl Multiply<'_, '_> {
    /// R rows times P panels at a time: independent sums hide the latency of a multiply-add.
    #[inline(always)]
    fn few<S: Simd, const R: usize, const P: usize>(&mut self, simd: S) {
        let mut left = vec![[0.0; R]; self.inputs];
        interleave(self.rows, &mut left);
        let panels = self.out[0].len().div_ceil(PANEL);
        let panel = |p: usize| &self.panels[p * PANEL * self.inputs..][..PANEL * self.inputs];
        // P panels far apart, each read in order, so that the processor prefetches P streams.
        let apart = panels / P;
        for first in 0..apart {
            let mut right: [&[f32]; P] = [&[]; P];
            let mut columns = [0; P];
            for k in 0..P {
                right[k] = panel(k * apart + first);
                columns[k] = (k * apart + first) * PANEL;
            }
            block(simd, &left, right, self.out, columns);
        }
        for p in P * apart..panels {
            block(simd, &left, [panel(p)], self.out, [p * PANEL]);
        }
    }

    /// Blocks of [`ROWS`] rows, all of which are multiplied by a panel while it is in the nearest cache.
    #[inline(always)]
    fn many<S: Simd>(&mut self, simd: S) {
        let columns = self.out[0].len();
        let mut lefts = vec![[0.0; ROWS]; self.out.len().div_ceil(ROWS) * self.inputs];
        for (left, rows) in
            lefts.chunks_exact_mut(self.inputs).zip(self.rows.chunks(ROWS * self.inputs))
        {
            interleave(rows, left);
        }
        let panels = self.panels.chunks_exact(PANEL * self.inputs);
        for (right, column) in panels.zip((0..columns).step_by(PANEL)) {
            for (left, out) in lefts.chunks_exact(self.inputs).zip(self.out.chunks_mut(ROWS)) {
                block(simd, left, [right], out, [column]);
            }
        }
    }
}

/// left[i, r] = rows[r, i]; columns of `left` without a row stay as they are.
#[inline(always)]
fn interleave<const R: usize>(rows: &[f32], left: &mut [[f32; R]]) {
    for (r, row) in rows.chunks_exact(left.len()).enumerate() {
        for (to, from) in left.iter_mut().zip(row) {
            to[r] = *from;
        }
    }
}

/// out[r, columns[p] + j] = sum over i of left[i, r] right[p, i, j], for the columns that `out` has.
///
/// # Shapes
///
/// - left: `[inputs, R]`
/// - right: P panels, each `[inputs, PANEL]`
#[inline(always)]
fn block<S: Simd, const R: usize, const P: usize>(
    simd: S,
    left: &[[f32; R]],
    right: [&[f32]; P],
    out: &mut [&mut [f32]],
    columns: [usize; P],
) {
    let width = 2 * S::F32_LANES;
    for start in (0..PANEL).step_by(width) {
        let mut sums = [[[simd.splat_f32s(0.0); 2]; R]; P];
        // Loops and no closures, through which arrays would leave the registers.
        let mut panels: [&[[f32; PANEL]]; P] = [&[]; P];
        for p in 0..P {
            panels[p] = &right[p].as_chunks().0[..left.len()];
        }
        for (i, left) in left.iter().enumerate() {
            for p in 0..P {
                let (weights, _) = S::as_simd_f32s(&panels[p][i][start..start + width]);
                let (first, second) = (weights[0], weights[1]);
                for r in 0..R {
                    let x = simd.splat_f32s(left[r]);
                    sums[p][r][0] = simd.mul_add_e_f32s(x, first, sums[p][r][0]);
                    sums[p][r][1] = simd.mul_add_e_f32s(x, second, sums[p][r][1]);
                }
            }
        }
        for (p, sums) in sums.iter().enumerate() {
            for (out, sums) in out.iter_mut().zip(sums) {
                let column = (columns[p] + start).min(out.len());
                let count = width.min(out.len() - column);
                let out = &mut out[column..column + count];
                if count == width {
                    S::as_mut_simd_f32s(out).0.copy_from_slice(sums);
                } else {
                    let mut whole = [0.0; PANEL];
                    S::as_mut_simd_f32s(&mut whole).0[..2].copy_from_slice(sums);
                    out.copy_from_slice(&whole[..count]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, step: f32) -> Vec<f32> {
        (0..count).map(|i| (i as f32 * step).sin()).collect()
    }

    #[test]
    fn matches_its_definition() {
        for (count, inputs, columns) in
            [(1, 1, 1), (2, 8, 16), (3, 13, 37), (4, 128, 640), (5, 40, 33), (30, 128, 901)]
        {
            let rows = numbers(count * inputs, 1.3);
            let matrix = numbers(inputs * columns, 0.7);
            let all = PackedMatrix::new(&matrix, inputs).multiply(&rows);
            assert_eq!(all.len(), count * columns);
            for (at, got) in all.into_iter().enumerate() {
                let (r, j) = (at / columns, at % columns);
                let wanted: f32 =
                    (0..inputs).map(|i| rows[r * inputs + i] * matrix[i * columns + j]).sum();
                assert!((got - wanted).abs() < 1e-4, "{r}, {j}: {got} {wanted}");
            }
        }
    }

    #[test]
    fn a_row_is_the_same_bits_among_any_others() {
        for (inputs, columns) in [(1, 1), (13, 37), (128, 384), (64, 290)] {
            let matrix = PackedMatrix::new(&numbers(inputs * columns, 0.37), inputs);
            let rows = numbers(19 * inputs, 0.91);
            let alone: Vec<f32> =
                rows.chunks(inputs).flat_map(|row| matrix.multiply(row)).collect();
            for count in 2..=19 {
                let together = matrix.multiply(&rows[..count * inputs]);
                for (a, b) in together.iter().zip(&alone) {
                    assert_eq!(a.to_bits(), b.to_bits(), "{count} rows of {inputs} x {columns}");
                }
            }
        }
    }

    #[test]
    fn packs_a_transpose_and_gives_columns_back() {
        let (inputs, columns) = (5, 70);
        let matrix = numbers(inputs * columns, 1.0);
        let transposed: Vec<f32> = (0..columns)
            .flat_map(|j| (0..inputs).map(move |i| (i, j)))
            .map(|(i, j)| matrix[i * columns + j])
            .collect();
        let packed = PackedMatrix::transposed(&transposed, inputs);
        assert_eq!(packed.values, PackedMatrix::new(&matrix, inputs).values);
        let mut column = [0.0; 5];
        packed.copy_column(69, &mut column);
        assert_eq!(column, transposed[69 * inputs..]);
    }
}
