//! The product of a few rows with each row of a matrix: the output head.

use pulp::{Arch, Simd, WithSimd};

use crate::{
    dot::{dot, dots},
    exchange::on_sides,
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
pub fn scores(rows: &[f32], matrix: &[f32], width: usize) -> Vec<f32> {
    let columns = matrix.len() / width;
    let mut all = vec![0.0; rows.len() / width * columns];
    let middle = columns.div_ceil(2).next_multiple_of(STREAMS).min(columns);
    let (first, second) = all
        .chunks_exact_mut(columns)
        .map(|row| row.split_at_mut(middle))
        .unzip();
    let (before, behind) = matrix.split_at(middle * width);
    let mut halves: [(&[f32], Vec<&mut [f32]>); 2] = [(before, first), (behind, second)];
    let arch = Arch::new();
    on_sides(&mut halves, 0, rows.len() * columns, |halves, _| {
        for (matrix, out) in halves {
            arch.dispatch(Scores {
                rows,
                matrix,
                width,
                out,
            });
        }
    });
    all
}

struct Scores<'a, 'b> {
    rows: &'a [f32],
    matrix: &'a [f32],
    width: usize,
    out: &'a mut [&'b mut [f32]],
}

impl WithSimd for Scores<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let columns = self.matrix.len() / self.width;
        let rows: Vec<&[f32]> = self.rows.chunks_exact(self.width).collect();
        let (row_pairs, row_rest) = rows.as_chunks::<2>();
        let (out_pairs, out_rest) = self.out.as_chunks_mut::<2>();
        // A processor fetches ahead in several places at once, and so faster than in one.
        let weights = |column: usize| &self.matrix[column * self.width..(column + 1) * self.width];
        let apart = columns / STREAMS;
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
        for column in STREAMS * apart..columns {
            for (row, out) in rows.iter().zip(&mut *self.out) {
                out[column] = dot(simd, row, weights(column));
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
            let all = scores(&rows, &matrix, width);
            for (i, got) in all.into_iter().enumerate() {
                let row = &rows[i / vocabulary * width..][..width];
                let weights = &matrix[i % vocabulary * width..][..width];
                let wanted: f32 = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                assert!((got - wanted).abs() < 1e-4, "{i}: {got} {wanted}");
            }
        }
    }
}
