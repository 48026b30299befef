//! The product of a few rows with each row of a matrix: the output head.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::{
    columns::by_columns,
    dot::{dot, dots},
    shared::Numbers,
    threads::Threads,
};

/// Places of the matrix that are read at the same time.
const STREAMS: usize = 8;

/// The dot product of each row with each row of the matrix, which is read once, in its order.
///
/// # Shapes
///
/// - rows: `[rows, width]`
/// - matrix: `[vocab_size, width]`
/// - output: `[rows, vocab_size]`
pub fn scores(rows: &impl Numbers, matrix: &impl Numbers, width: usize) -> Vec<f32> {
    let numbers = rows.as_ref().len();
    let columns = matrix.as_ref().len() / width;
    let (rows, matrix) = (rows.clone(), matrix.clone());
    let arch = Arch::new();
    by_columns(
        [numbers / width, columns],
        numbers * columns,
        Threads::Two,
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
        let rows: Vec<&[f32]> = self.rows.chunks_exact(self.width).collect();
        let (row_pairs, row_rest) = rows.as_chunks::<2>();
        let (out_pairs, out_rest) = self.out.as_chunks_mut::<2>();
        // A processor fetches ahead in several places at once, and so faster than in one.
        let weights = |column: usize| &matrix[column * self.width..(column + 1) * self.width];
        let apart = (end - start) / STREAMS;
        for column in 0..apart {
            let mut streams: [&[f32]; STREAMS] = [&[]; STREAMS];
            for (stream, slot) in streams.iter_mut().enumerate() {
                *slot = weights(stream * apart + column);
            }
            for (rows, [first, second]) in row_pairs.iter().zip(&mut *out_pairs) {
                let scores = dots(simd, *rows, streams);
                for stream in 0..STREAMS {
                    first[stream * apart + column] = scores[0][stream];
                    second[stream * apart + column] = scores[1][stream];
                }
            }
            for (row, out) in row_rest.iter().zip(&mut *out_rest) {
                let [scores] = dots(simd, [row], streams);
                for (stream, score) in scores.into_iter().enumerate() {
                    out[stream * apart + column] = score;
                }
            }
        }
        for column in STREAMS * apart..end - start {
            for (row, out) in rows.iter().zip(&mut *self.out) {
                out[column] = dot(simd, row, weights(column));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Shared;

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
            let shared = [&rows, &matrix].map(|values| Shared::from(values.clone()));
            let all = scores(&shared[0], &shared[1], width);
            for (i, got) in all.into_iter().enumerate() {
                let row = &rows[i / vocabulary * width..][..width];
                let weights = &matrix[i % vocabulary * width..][..width];
                let wanted: f32 = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                assert!((got - wanted).abs() < 1e-4, "{i}: {got} {wanted}");
            }
        }
    }
}
