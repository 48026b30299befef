//! Norms of rows.

use pulp::{Arch, Simd, WithSimd};

use super::dot::dot;

/// Each row brought to mean 0 and variance 1, times `gamma` plus `beta`.
///
/// # Shapes
///
/// - rows: `[rows, width]`, `width` being the length of `gamma` and `beta`
/// - output: `[rows, width]`
pub(crate) fn layer_norm(rows: &[f32], gamma: &[f32], beta: &[f32], eps: f32) -> Vec<f32> {
    Arch::new().dispatch(Normalise {
        rows,
        gamma,
        beta: Some(beta),
        eps,
    })
}

/// Each row brought to mean square 1, times `gamma`.
///
/// # Shapes
///
/// - rows: `[rows, width]`, `width` being the length of `gamma`
/// - output: `[rows, width]`
pub(crate) fn rms_norm(rows: &[f32], gamma: &[f32], eps: f32) -> Vec<f32> {
    Arch::new().dispatch(Normalise {
        rows,
        gamma,
        beta: None,
        eps,
    })
}

struct Normalise<'a> {
    rows: &'a [f32],
    gamma: &'a [f32],
    /// Where there is one, the mean is subtracted first.
    beta: Option<&'a [f32]>,
    eps: f32,
}

impl WithSimd for Normalise<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let width = self.gamma.len();
        let ones = vec![1.0; width];
        let mut out = self.rows.to_vec();
        for row in out.chunks_exact_mut(width) {
            if self.beta.is_some() {
                let mean = dot(simd, row, &ones) / width as f32;
                row.iter_mut().for_each(|value| *value -= mean);
            }
            let square = dot(simd, row, row) / width as f32;
            let factor = 1.0 / (square + self.eps).sqrt();
            for (value, gamma) in row.iter_mut().zip(self.gamma) {
                *value *= factor * gamma;
            }
            for (value, beta) in row.iter_mut().zip(self.beta.unwrap_or_default()) {
                *value += beta;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 37;

    fn assert_close(got: &[f32], wanted: impl Fn(&[f32], usize) -> f32, rows: &[f32]) {
        for (i, got) in got.iter().enumerate() {
            let row = &rows[i / WIDTH * WIDTH..][..WIDTH];
            let wanted = wanted(row, i % WIDTH);
            assert!((got - wanted).abs() < 1e-5, "{i}: {got} {wanted}");
        }
    }

    #[test]
    fn match_their_definitions() {
        let rows: Vec<f32> = (0..2 * WIDTH).map(|i| (i as f32).sin() + 0.5).collect();
        let gamma: Vec<f32> = (0..WIDTH).map(|i| i as f32 * 0.1).collect();
        let beta: Vec<f32> = (0..WIDTH).map(|i| 1.0 - i as f32).collect();
        let mean = |values: &[f32]| values.iter().sum::<f32>() / WIDTH as f32;
        let square = |row: &[f32], mean: f32| {
            row.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / WIDTH as f32
        };
        let layer = layer_norm(&rows, &gamma, &beta, 0.01);
        let wanted = |row: &[f32], i: usize| {
            let deviation = (square(row, mean(row)) + 0.01).sqrt();
            (row[i] - mean(row)) / deviation * gamma[i] + beta[i]
        };
        assert_close(&layer, wanted, &rows);
        let rms = rms_norm(&rows, &gamma, 0.01);
        let wanted = |row: &[f32], i: usize| row[i] / (square(row, 0.0) + 0.01).sqrt() * gamma[i];
        assert_close(&rms, wanted, &rows);
    }
}
