//! The product of rows with a matrix.

use pulp::{Arch, Simd, WithSimd};

use crate::{
    dot::add_scaled,
    panels::by_panels,
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
pub fn product(rows: &[f32], matrix: &[f32], inputs: usize) -> Vec<f32> {
    let columns = matrix.len() / inputs;
    let mut out = vec![0.0; rows.len() / inputs * columns];
    Arch::new().dispatch(Product {
        rows,
        matrix,
        inputs,
        columns,
        out: &mut out,
    });
    out
}

struct Product<'a> {
    rows: &'a [f32],
    matrix: &'a [f32],
    inputs: usize,
    columns: usize,
    out: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.rows.len() <= FEW_ROWS * self.inputs {
            true => self.few(simd),
            false => self.many(simd),
        }
    }
}

impl Product<'_> {
    #[inline(always)]
    fn few<S: Simd>(self, simd: S) {
        let weights = |input: usize| &self.matrix[input * self.columns..][..self.columns];
        let (rows, out) = (self.rows.chunks_exact(self.inputs), self.out);
        // A processor fetches ahead in several places at once, and so faster than in one.
        let apart = self.inputs / STREAMS;
        for first in 0..apart {
            let mut parts: [&[f32]; STREAMS] = [&[]; STREAMS];
            for (stream, slot) in parts.iter_mut().enumerate() {
                *slot = weights(stream * apart + first);
            }
            for (row, out) in rows.clone().zip(out.chunks_exact_mut(self.columns)) {
                let mut factors = [0.0; STREAMS];
                for (stream, slot) in factors.iter_mut().enumerate() {
                    *slot = row[stream * apart + first];
                }
                add_scaled(simd, factors, parts, out);
            }
        }
        for input in STREAMS * apart..self.inputs {
            for (row, out) in rows.clone().zip(out.chunks_exact_mut(self.columns)) {
                add_scaled(simd, [row[input]], [weights(input)], out);
            }
        }
    }

    #[inline(always)]
    fn many<S: Simd>(self, simd: S) {
        let whole = self.columns / COLUMNS * COLUMNS;
        let mut last = vec![
            0.0;
            if whole < self.columns {
                self.inputs * COLUMNS
            } else {
                0
            }
        ];
        for (to, from) in last
            .chunks_exact_mut(COLUMNS)
            .zip(self.matrix.chunks_exact(self.columns))
        {
            to[..self.columns - whole].copy_from_slice(&from[whole..]);
        }
        let panel = |column: usize| match column < whole {
            true => Rows {
                values: &self.matrix[column..],
                stride: self.columns,
            },
            false => Rows {
                values: &last,
                stride: COLUMNS,
            },
        };
        let mut out: Vec<&mut [f32]> = self.out.chunks_exact_mut(self.columns).collect();
        by_panels(simd, self.rows, self.inputs, panel, &mut out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let all = product(&rows, &matrix, inputs);
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
