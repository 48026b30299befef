//! Rotary positions.

use crate::simd::vectorized;

/// Rotary positions (Su et al., *RoFormer*, 2021) in Hugging Face's half-split form: number i of a
/// head is rotated together with number i + head_dim / 2, by an angle that depends on the position.
#[derive(Debug, Clone, Copy)]
pub struct Rotary<'a> {
    /// Cosines of the angles of the pairs, `[1 or batch, length, head_dim / 2]`.
    pub cos: &'a [f32],
    /// Sines of the same.
    pub sin: &'a [f32],
    /// Width of a head.
    pub head_dim: usize,
}

impl Rotary<'_> {
    /// Rotates the first `heads` heads of each position. A `sign` of -1 instead of 1 rotates back: the
    /// inverse of a rotation is its transpose, so this is the gradient, too.
    ///
    /// # Shapes
    ///
    /// - projection: `[batch, length, columns]`
    ///
    /// # Panics
    ///
    /// If the shapes do not fit.
    pub fn rotate(self, sign: f32, projection: &mut [f32], columns: usize, heads: usize) {
        let Self { cos, sin, head_dim } = self;
        let half = head_dim / 2;
        assert!(cos.len() == sin.len() && cos.len().is_multiple_of(half));
        assert!(heads * head_dim <= columns);
        let text = cos.len() / half * columns;
        assert!(projection.len().is_multiple_of(text));
        vectorized!({
            for text in projection.chunks_exact_mut(text) {
                let angles = cos.chunks_exact(half).zip(sin.chunks_exact(half));
                for (row, (cos, sin)) in text.chunks_exact_mut(columns).zip(angles) {
                    for head in row.chunks_exact_mut(head_dim).take(heads) {
                        rotate_head(head, cos, sin, sign);
                    }
                }
            }
        });
    }
}

/// (x[i], x[i + D / 2]) = (x[i] cos - x[i + D / 2] sin, x[i + D / 2] cos + x[i] sin) for one head of width D;
/// a sign of -1 rotates back.
#[inline(always)]
pub(crate) fn rotate_head(head: &mut [f32], cos: &[f32], sin: &[f32], sign: f32) {
    let (first, second) = head.split_at_mut(cos.len());
    let pairs = first.iter_mut().zip(second);
    for ((a, b), (cos, sin)) in pairs.zip(cos.iter().zip(sin)) {
        let sin = sign * sin;
        (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotates_the_first_heads_of_each_position_and_back() {
        // Two heads of 4, and 3 more numbers per position.
        const COLUMNS: usize = 11;
        let angles = [0.0_f32, 0.5, 1.0, 2.0];
        let (cos, sin) = (angles.map(f32::cos), angles.map(f32::sin));
        let rotary = Rotary { cos: &cos, sin: &sin, head_dim: 4 };
        let x: Vec<f32> = (0..4 * COLUMNS).map(|i| (i as f32 * 0.7).sin()).collect();
        let mut y = x.clone();
        rotary.rotate(1.0, &mut y, COLUMNS, 2);
        for (row, (x, y)) in x.chunks(COLUMNS).zip(y.chunks(COLUMNS)).enumerate() {
            // Two texts of two positions.
            for (pair, angle) in angles[row % 2 * 2..][..2].iter().enumerate() {
                for head in [0, 4] {
                    let (a, b) = (head + pair, head + pair + 2);
                    let wanted = x[a] * angle.cos() - x[b] * angle.sin();
                    assert!((y[a] - wanted).abs() < 1e-6, "{row}, {a}");
                    let wanted = x[a] * angle.sin() + x[b] * angle.cos();
                    assert!((y[b] - wanted).abs() < 1e-6, "{row}, {b}");
                }
            }
            assert_eq!(y[8..], x[8..]);
        }
        rotary.rotate(-1.0, &mut y, COLUMNS, 2);
        for (y, x) in y.iter().zip(&x) {
            assert!((y - x).abs() < 1e-6);
        }
    }
}
