//! RMS norm.

use pulp::{Arch, Simd, WithSimd};

use crate::dot::dot;

/// Each row brought to mean square 1, times `gamma` (Zhang & Sennrich, *Root Mean Square Layer
/// Normalization*, 2019).
///
/// # Shapes
///
/// - rows: `[rows, width]`, `width` being the length of `gamma`
/// - output: `[rows, width]`
pub fn rms_norm(rows: &[f32], gamma: &[f32], eps: f32) -> Vec<f32> {
    Arch::new().dispatch(RmsNorm { rows, gamma, eps })
}

struct RmsNorm<'a> {
    rows: &'a [f32],
    gamma: &'a [f32],
    eps: f32,
}

impl WithSimd for RmsNorm<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let width = self.gamma.len();
        let mut out = self.rows.to_vec();
        for row in out.chunks_exact_mut(width) {
            let square = dot(simd, row, row) / width as f32;
            let factor = 1.0 / (square + self.eps).sqrt();
            for (value, gamma) in row.iter_mut().zip(self.gamma) {
                *value *= factor * gamma;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_its_definition() {
        const WIDTH: usize = 37;
        let rows: Vec<f32> = (0..2 * WIDTH).map(|i| (i as f32).sin() + 0.5).collect();
        let gamma: Vec<f32> = (0..WIDTH).map(|i| i as f32 * 0.1).collect();
        for (i, got) in rms_norm(&rows, &gamma, 0.01).into_iter().enumerate() {
            let row = &rows[i / WIDTH * WIDTH..][..WIDTH];
            let square = row.iter().map(|v| v * v).sum::<f32>() / WIDTH as f32;
            let wanted = rows[i] / (square + 0.01).sqrt() * gamma[i % WIDTH];
            assert!((got - wanted).abs() < 1e-5, "{i}: {got} {wanted}");
        }
    }
}
