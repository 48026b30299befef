//! The product of a few rows with a matrix.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::{
    columns::{Numbers, by_columns},
    dot::add_scaled,
};

/// Rows of the matrix that are added at once.
const BLOCK: usize = 8;

/// Row times matrix, for each row: the matrix is read from memory once, in its order. Faster than a
/// product of matrices where so few rows meet it that reading it is what takes the time.
///
/// # Shapes
///
/// - rows: `[rows, inputs]`
/// - matrix: `[inputs, columns]`
/// - output: `[rows, columns]`
pub fn matvec<T: Numbers>(rows: &T, matrix: &T, inputs: usize) -> Vec<f32> {
    let numbers = rows.as_ref().len();
    let columns = matrix.as_ref().len() / inputs;
    let (rows, matrix) = (rows.clone(), matrix.clone());
    let arch = Arch::new();
    by_columns(
        numbers / inputs,
        columns,
        numbers * columns,
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
        let part = |input: usize| &self.matrix[input * self.columns..][self.range.clone()];
        for start in (0..self.inputs).step_by(BLOCK) {
            let block = start..self.inputs.min(start + BLOCK);
            for (row, out) in self.rows.chunks_exact(self.inputs).zip(&mut *self.out) {
                match <[f32; BLOCK]>::try_from(&row[block.clone()]) {
                    Ok(factors) => {
                        let mut parts: [&[f32]; BLOCK] = [&[]; BLOCK];
                        for (i, slot) in parts.iter_mut().enumerate() {
                            *slot = part(start + i);
                        }
                        add_scaled(simd, factors, parts, out);
                    }
                    Err(_) => {
                        for input in block.clone() {
                            add_scaled(simd, [row[input]], [part(input)], out);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn matches_its_definition() {
        for (count, inputs, columns) in [(1, 1, 1), (1, 8, 16), (3, 13, 37), (5, 128, 640)] {
            let rows: Vec<f32> = (0..count * inputs).map(|i| (i as f32).sin()).collect();
            let matrix: Vec<f32> = (0..inputs * columns).map(|i| (i as f32).cos()).collect();
            let shared = [&rows, &matrix].map(|values| Arc::<[f32]>::from(values.as_slice()));
            let all = matvec(&shared[0], &shared[1], inputs);
            for (i, got) in all.into_iter().enumerate() {
                let (row, column) = (i / columns, i % columns);
                let wanted: f32 = (0..inputs)
                    .map(|k| rows[row * inputs + k] * matrix[k * columns + column])
                    .sum();
                assert!(
                    (got - wanted).abs() < 1e-4,
                    "{row}, {column}: {got} {wanted}"
                );
            }
        }
    }
}
