//! Products of many rows, a panel of the matrix at a time.

use pulp::{Arch, Simd, WithSimd};

use crate::{
    matrix::transpose,
    tile::{COLUMNS, ROWS, Rows, product},
};

/// The transpose of a matrix, cut into panels of so many columns as registers hold: each is read in
/// its order, whatever the number of columns.
#[derive(Debug)]
pub struct Panels {
    /// `[panels, inputs, COLUMNS]`, the last one filled up with zeros.
    values: Vec<f32>,
    inputs: usize,
    columns: usize,
}

impl Panels {
    /// # Shapes
    ///
    /// - matrix: `[columns, inputs]`
    pub fn transposed(matrix: &[f32], inputs: usize) -> Self {
        let columns = matrix.len() / inputs;
        let mut values = vec![0.0; columns.next_multiple_of(COLUMNS) * inputs];
        let panels = values.chunks_exact_mut(COLUMNS * inputs);
        for (panel, rows) in panels.zip(matrix.chunks(COLUMNS * inputs)) {
            for (column, row) in rows.chunks_exact(inputs).enumerate() {
                for (to, from) in panel[column..].iter_mut().step_by(COLUMNS).zip(row) {
                    *to = *from;
                }
            }
        }
        Self {
            values,
            inputs,
            columns,
        }
    }

    /// Row times matrix, for each row, on this thread.
    ///
    /// # Shapes
    ///
    /// - rows: `[rows, inputs]`
    /// - out: `[rows, columns]`
    pub fn multiply(&self, rows: &[f32], out: &mut [f32]) {
        let mut out: Vec<&mut [f32]> = out.chunks_exact_mut(self.columns).collect();
        Arch::new().dispatch(Multiply {
            panels: self,
            rows,
            out: &mut out,
        });
    }
}

struct Multiply<'a, 'b> {
    panels: &'a Panels,
    rows: &'a [f32],
    out: &'a mut [&'b mut [f32]],
}

impl WithSimd for Multiply<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Panels { values, inputs, .. } = self.panels;
        let panel = |column: usize| Rows {
            values: &values[column * inputs..(column + COLUMNS) * inputs],
            stride: COLUMNS,
        };
        by_panels(simd, self.rows, *inputs, panel, self.out);
    }
}

/// Row times matrix, for each row. While a panel of the matrix is in the nearest cache, all rows meet
/// it, some of them at a time.
///
/// # Shapes
///
/// - rows: `[rows, inputs]`
/// - panel: of a column, a multiple of [`COLUMNS`], so many columns from there on
/// - out: `[rows, columns]`
#[inline(always)]
pub(crate) fn by_panels<'m, S: Simd>(
    simd: S,
    rows: &[f32],
    inputs: usize,
    panel: impl Fn(usize) -> Rows<'m>,
    out: &mut [&mut [f32]],
) {
    let Some(columns) = out.first().map(|row| row.len()) else {
        return;
    };
    let mut lefts = vec![0.0; out.len().next_multiple_of(ROWS) * inputs];
    for (left, rows) in lefts
        .chunks_exact_mut(ROWS * inputs)
        .zip(rows.chunks(ROWS * inputs))
    {
        transpose(rows, inputs, inputs, left);
    }
    let mut sums = [0.0; ROWS * COLUMNS];
    for start in (0..columns).step_by(COLUMNS) {
        let right = panel(start);
        for (left, out) in lefts.chunks_exact(ROWS * inputs).zip(out.chunks_mut(ROWS)) {
            let left = Rows {
                values: left,
                stride: ROWS,
            };
            product(simd, left, right, COLUMNS, &mut sums, COLUMNS);
            for (out, sums) in out.iter_mut().zip(sums.as_chunks::<COLUMNS>().0) {
                match out[start..].first_chunk_mut::<COLUMNS>() {
                    Some(out) => *out = *sums,
                    None => out[start..].copy_from_slice(&sums[..columns - start]),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_its_definition() {
        for (count, inputs, columns) in [(1, 1, 1), (8, 16, 32), (11, 13, 37), (30, 128, 901)] {
            let rows: Vec<f32> = (0..count * inputs).map(|i| (i as f32).sin()).collect();
            let matrix: Vec<f32> = (0..columns * inputs).map(|i| (i as f32).cos()).collect();
            let mut out = vec![f32::NAN; count * columns];
            Panels::transposed(&matrix, inputs).multiply(&rows, &mut out);
            for (i, got) in out.into_iter().enumerate() {
                let row = &rows[i / columns * inputs..][..inputs];
                let weights = &matrix[i % columns * inputs..][..inputs];
                let wanted: f32 = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                assert!((got - wanted).abs() < 1e-4, "{i}: {got} {wanted}");
            }
        }
    }
}
