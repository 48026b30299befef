//! RMS norm and its gradients, one pass over the rows each.

use pulp::Arch;

use crate::{reduce::Dot, simd::vectorized};

/// 1 / sqrt(mean(row^2) + eps).
#[inline(always)]
fn scale(arch: Arch, row: &[f32], eps: f32) -> f32 {
    1.0 / (arch.dispatch(Dot(row, row)) / row.len() as f32 + eps).sqrt()
}

/// `y[t, c] = gamma[c] x[t, c] / sqrt(mean(x[t]^2) + eps)` (Zhang & Sennrich, *Root Mean Square Layer
/// Normalization*, 2019).
///
/// # Shapes
///
/// - x, output: `[rows, width]`
/// - gamma: `[width]`
pub fn rms_norm(x: &[f32], gamma: &[f32], eps: f32) -> Vec<f32> {
    let arch = Arch::new();
    let mut y = x.to_vec();
    vectorized!({
        for row in y.chunks_exact_mut(gamma.len()) {
            let scale = scale(arch, row, eps);
            for (y, gamma) in row.iter_mut().zip(gamma) {
                *y *= scale * gamma;
            }
        }
    });
    y
}

/// Turns the gradient of the output of [`rms_norm`] into that of `x`, and returns that of gamma.
///
/// With n the normalised row, g the gradient of y and d = g gamma:
///
/// ```text
/// dx[t, c] = (d[t, c] - n[t, c] mean(d[t] n[t])) / sqrt(mean(x[t]^2) + eps)
/// dgamma[c] = sum over t of g[t, c] n[t, c]
/// ```
///
/// # Panics
///
/// If the shapes do not fit.
pub fn rms_norm_gradient(x: &[f32], gamma: &[f32], eps: f32, gradient: &mut [f32]) -> Vec<f32> {
    let width = gamma.len();
    assert!(x.len() == gradient.len() && x.len().is_multiple_of(width));
    let arch = Arch::new();
    let mut of_gamma = vec![0.0; width];
    vectorized!({
        for (g, x) in gradient.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
            let scale = scale(arch, x, eps);
            // g becomes d
            let pairs = g.iter_mut().zip(x);
            for ((g, x), (sum, gamma)) in pairs.zip(of_gamma.iter_mut().zip(gamma)) {
                *sum += *g * (x * scale);
                *g *= gamma;
            }
            // n mean(d n) = x scale^2 mean(d x)
            let slope = scale * scale * arch.dispatch(Dot(g, x)) / width as f32;
            for (d, x) in g.iter_mut().zip(x) {
                *d = scale * (*d - x * slope);
            }
        }
    });
    of_gamma
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
