//! The product of rows with a matrix.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::{
    columns::by_columns,
    dot::add_scaled,
    panels::by_panels,
    shared::Numbers,
    threads::Threads,
    tile::{COLUMNS, Rows},
};

/// Rows up to which reading the matrix in its order is what counts; from there on, what was read is
/// used for several rows in registers.
const FEW_ROWS: usize = 4;

/// Places of the matrix that are read at the same time.
const STREAMS: usize = 8;

/// Row times matrix, for each row.
///
/// # Shapes
///
/// - rows: `[rows, inputs]`
/// - matrix: `[inputs, columns]`
/// - output: `[rows, columns]`
pub fn product(
    rows: &impl Numbers,
    matrix: &impl Numbers,
    inputs: usize,
    threads: Threads,
) -> Vec<f32> {
    let numbers = rows.as_ref().len();
    let columns = matrix.as_ref().len() / inputs;
    let (rows, matrix) = (rows.clone(), matrix.clone());
    let arch = Arch::new();
    by_columns(
        [numbers / inputs, columns],
        numbers * columns,
        threads,
        move |range, out| {
            arch.dispatch(Product {
                rows: rows.as_ref(),
                matrix: matrix.as_ref(),
                inputs,
                columns,
                range,
                out,
            });
        },
    )
}

struct Product<'a, 'b> {
    rows: &'a [f32],
    matrix: &'a [f32],
    inputs: usize,
    columns: usize,
    range: Range<usize>,
    out: &'a mut [&'b mut [f32]],
}

impl WithSimd for Product<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.out.len() <= FEW_ROWS {
            true => self.few(simd),
            false => self.many(simd),
        }
    }
}

impl Product<'_, '_> {
    #[inline(always)]
    fn few<S: Simd>(self, simd: S) {
        let part = |input: usize| &self.matrix[input * self.columns..][self.range.clone()];
        // A processor fetches ahead in several places at once, and so faster than in one.
        let apart = self.inputs / STREAMS;
        for first in 0..apart {
            let mut parts: [&[f32]; STREAMS] = [&[]; STREAMS];
            for (stream, slot) in parts.iter_mut().enumerate() {
                *slot = part(stream * apart + first);
            }
            for (row, out) in self.rows.chunks_exact(self.inputs).zip(&mut *self.out) {
                let mut factors = [0.0; STREAMS];
                for (stream, slot) in factors.iter_mut().enumerate() {
                    *slot = row[stream * apart + first];
                }
                add_scaled(simd, factors, parts, out);
            }
        }
        for input in STREAMS * apart..self.inputs {
            for (row, out) in self.rows.chunks_exact(self.inputs).zip(&mut *self.out) {
                add_scaled(simd, [row[input]], [part(input)], out);
            }
        }
    }

    #[inline(always)]
    fn many<S: Simd>(self, simd: S) {
        let Range { start, end } = self.range;
        let whole = (end - start) / COLUMNS * COLUMNS;
        let mut last = vec![
            0.0;
            if start + whole < end {
                self.inputs * COLUMNS
            } else {
                0
            }
        ];
        for (to, from) in last
            .chunks_exact_mut(COLUMNS)
            .zip(self.matrix.chunks_exact(self.columns))
        {
            to[..end - start - whole].copy_from_slice(&from[start + whole..end]);
        }
        let panel = |column: usize| match column < whole {
            true => Rows {
                values: &self.matrix[start + column..],
                stride: self.columns,
            },
            false => Rows {
                values: &last,
                stride: COLUMNS,
            },
        };
        by_panels(simd, self.rows, self.inputs, panel, self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Shared;

    #[test]
    fn matches_its_definition() {
        for (count, inputs, columns) in [
            (1, 1, 1),
            (1, 8, 16),
            (3, 13, 37),
            (4, 128, 640),
            (5, 128, 640),
            (16, 40, 32),
            (19, 33, 300),
        ] {
            let rows: Vec<f32> = (0..count * inputs).map(|i| (i as f32).sin()).collect();
            let matrix: Vec<f32> = (0..inputs * columns).map(|i| (i as f32).cos()).collect();
            let shared = [&rows, &matrix].map(|values| Shared::from(values.clone()));
            for threads in [Threads::One, Threads::Two] {
                let all = product(&shared[0], &shared[1], inputs, threads);
                assert_eq!(all.len(), count * columns);
                for (i, got) in all.into_iter().enumerate() {
                    let (row, column) = (i / columns, i % columns);
                    let wanted: f32 = (0..inputs)
                        .map(|k| rows[row * inputs + k] * matrix[k * columns + column])
                        .sum();
                    assert!(
                        (got - wanted).abs() < 1e-4,
                        "{count} x {inputs} x {columns}, {row}, {column}: {got} {wanted}"
                    );
                }
            }
        }
    }
}
