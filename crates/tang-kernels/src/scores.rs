//! The product of a few rows with each row of a matrix: the output head.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::{
    columns::{Numbers, by_columns},
    dot::{dot, dots},
};

/// Places of the matrix that are read at the same time.
const STREAMS: usize = 4;

/// Rows of a tile.
const ROWS: usize = 4;

/// The dot product of each row with each row of the matrix, which is read once, in its order.
///
/// # Shapes
///
/// - rows: `[rows, width]`
/// - matrix: `[vocab_size, width]`
/// - output: `[rows, vocab_size]`
pub fn scores<T: Numbers>(rows: &T, matrix: &T, width: usize) -> Vec<f32> {
    let numbers = rows.as_ref().len();
    let columns = matrix.as_ref().len() / width;
    let (rows, matrix) = (rows.clone(), matrix.clone());
    let arch = Arch::new();
    by_columns(
        numbers / width,
        columns,
        numbers * columns,
        move |range, out| {
            arch.dispatch(Scores {
                rows: rows.as_ref(),
                matrix: matrix.as_ref(),
                width,
                range,
                out,
            });
        },
    )
}

/// Reads every number of `weights` once, in dot products of rows of `width`, and gives their sum:
/// the least that a decoding step can do on one thread, which is what its time is compared with.
pub fn read_once(weights: &[f32], width: usize) -> f32 {
    let row: Vec<f32> = (0..width).map(|i| i as f32).collect();
    let mut products = vec![0.0; weights.len() / width];
    Arch::new().dispatch(Scores {
        rows: &row,
        matrix: weights,
        width,
        range: 0..products.len(),
        out: &mut [&mut products],
    });
    products.iter().sum()
}

struct Scores<'a, 'b> {
    rows: &'a [f32],
    matrix: &'a [f32],
    width: usize,
    range: Range<usize>,
    out: &'a mut [&'b mut [f32]],
}

impl WithSimd for Scores<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Range { start, end } = self.range;
        let matrix = &self.matrix[start * self.width..end * self.width];
        let pairs = matrix.chunks_exact(2 * self.width);
        let last = pairs.remainder();
        let rows: Vec<&[f32]> = self.rows.chunks_exact(self.width).collect();
        let (row_tiles, row_rest) = rows.as_chunks::<ROWS>();
        let (out_tiles, out_rest) = self.out.as_chunks_mut::<ROWS>();
        // In tiles, each number that was read is used more than once.
        for (pair, weights) in pairs.enumerate() {
            let (first, second) = weights.split_at(self.width);
            for (rows, out) in row_tiles.iter().zip(&mut *out_tiles) {
                let scores = dots(simd, *rows, [first, second]);
                for (out, scores) in out.iter_mut().zip(scores) {
                    out[2 * pair..2 * pair + 2].copy_from_slice(&scores);
                }
            }
        }
        if !last.is_empty() {
            for (row, out) in row_tiles
                .iter()
                .zip(out_tiles)
                .flat_map(|(r, o)| r.iter().zip(o))
            {
                out[end - start - 1] = dot(simd, row, last);
            }
        }
        // A processor fetches ahead in several places at once, and so faster than in one.
        let weights = |column: usize| &matrix[column * self.width..(column + 1) * self.width];
        let apart = (end - start) / STREAMS;
        for (row, out) in row_rest.iter().zip(out_rest) {
            for column in 0..apart {
                let mut streams: [&[f32]; STREAMS] = [&[]; STREAMS];
                for (stream, slot) in streams.iter_mut().enumerate() {
                    *slot = weights(stream * apart + column);
                }
                let [scores] = dots(simd, [row], streams);
                for (stream, score) in scores.into_iter().enumerate() {
                    out[stream * apart + column] = score;
                }
            }
            for column in STREAMS * apart..end - start {
                out[column] = dot(simd, row, weights(column));
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
        for (count, width, vocabulary) in [
            (1, 1, 1),
            (1, 16, 8),
            (3, 13, 37),
            (4, 128, 901),
            (6, 40, 300),
        ] {
            let rows: Vec<f32> = (0..count * width).map(|i| (i as f32).sin()).collect();
            let matrix: Vec<f32> = (0..vocabulary * width).map(|i| (i as f32).cos()).collect();
            let shared = [&rows, &matrix].map(|values| Arc::<[f32]>::from(values.as_slice()));
            let all = scores(&shared[0], &shared[1], width);
            for (i, got) in all.into_iter().enumerate() {
                let row = &rows[i / vocabulary * width..][..width];
                let weights = &matrix[i % vocabulary * width..][..width];
                let wanted: f32 = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                assert!((got - wanted).abs() < 1e-4, "{i}: {got} {wanted}");
            }
        }
    }

    #[test]
    fn everything_is_read() {
        // Rows (1, 1) and (2, 3) times (0, 1).
        assert_eq!(read_once(&[1.0, 1.0, 2.0, 3.0], 2), 4.0);
    }
}
