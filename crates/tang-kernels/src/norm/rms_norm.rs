//! RMS norm and its gradients, one pass over the rows each.

use pulp::{Arch, Simd, WithSimd};

use crate::reduce::dot::dot;

/// 1 / sqrt(mean square + eps).
#[inline(always)]
fn factor<S: Simd>(simd: S, row: &[f32], eps: f32) -> f32 {
    1.0 / (dot(simd, row, row) / row.len() as f32 + eps).sqrt()
}

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
            let factor = factor(simd, row, self.eps);
            for (value, gamma) in row.iter_mut().zip(self.gamma) {
                *value *= factor * gamma;
            }
        }
        out
    }
}

/// Turns gradients of what [`rms_norm`] gave into gradients of the `rows` it was given, and returns
/// that of `gamma`.
///
/// With n the normalised row and g = gradient x gamma, the gradient of a row is
/// factor (g - n mean(g n)).
///
/// # Panics
///
/// If the shapes do not fit.
pub fn rms_norm_gradient(rows: &[f32], gamma: &[f32], eps: f32, gradient: &mut [f32]) -> Vec<f32> {
    let width = gamma.len();
    assert!(rows.len() == gradient.len() && rows.len().is_multiple_of(width));
    Arch::new().dispatch(Gradient {
        rows,
        gamma,
        eps,
        gradient,
    })
}

struct Gradient<'a> {
    rows: &'a [f32],
    gamma: &'a [f32],
    eps: f32,
    gradient: &'a mut [f32],
}

impl WithSimd for Gradient<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let width = self.gamma.len();
        let mut of_gamma = vec![0.0; width];
        let gradients = self.gradient.chunks_exact_mut(width);
        for (gradient, row) in gradients.zip(self.rows.chunks_exact(width)) {
            let factor = factor(simd, row, self.eps);
            let pairs = gradient.iter_mut().zip(row);
            for ((g, x), (sum, gamma)) in pairs.zip(of_gamma.iter_mut().zip(self.gamma)) {
                *sum += *g * (x * factor);
                *g *= gamma;
            }
            // n mean(g n) = x factor^2 mean(g x)
            let slope = factor * factor * dot(simd, gradient, row) / width as f32;
            for (g, x) in gradient.iter_mut().zip(row) {
                *g = factor * (*g - x * slope);
            }
        }
        of_gamma
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

    #[test]
    fn gradients_match_differences() {
        let rows: Vec<f32> = (0..6).map(|i| (i as f32).sin() + 0.5).collect();
        let (gamma, eps, step) = ([0.5, -1.0, 2.0], 0.01, 1e-3);
        let weights = [1.0, -0.5, 0.25, 2.0, 1.5, -1.0];
        let loss = |rows: &[f32], gamma: &[f32]| -> f32 {
            let normed = rms_norm(rows, gamma, eps);
            normed.iter().zip(weights).map(|(y, w)| y * w).sum()
        };
        let mut of_rows = weights;
        let of_gamma = rms_norm_gradient(&rows, &gamma, eps, &mut of_rows);
        let moved = |values: &[f32], i: usize, by: f32| {
            let mut values = values.to_vec();
            values[i] += by;
            values
        };
        for (i, got) in of_rows.into_iter().enumerate() {
            let [above, below] = [step, -step].map(|by| loss(&moved(&rows, i, by), &gamma));
            let wanted = (above - below) / (2.0 * step);
            assert!((got - wanted).abs() < 2e-3, "row {i}: {got} {wanted}");
        }
        for (i, got) in of_gamma.into_iter().enumerate() {
            let [above, below] = [step, -step].map(|by| loss(&rows, &moved(&gamma, i, by)));
            let wanted = (above - below) / (2.0 * step);
            assert!((got - wanted).abs() < 2e-3, "gamma {i}: {got} {wanted}");
        }
    }
}
