//! Layer norm and its gradients, one pass over the rows each.

use crate::{
    reduce::{sum, sum_of},
    simd::vectorized,
};

/// mean(row), and 1 / sqrt(variance(row) + epsilon).
#[inline(always)]
fn moments(row: &[f32], epsilon: f32) -> (f32, f32) {
    let mean = sum(row) / row.len() as f32;
    let square = sum_of(row, row, |x, _| (x - mean) * (x - mean));
    (mean, 1.0 / (square / row.len() as f32 + epsilon).sqrt())
}

/// `y[t, c] = gamma[c] (x[t, c] - mean(x[t])) / sqrt(variance(x[t]) + epsilon) + beta[c]` (Ba et al.,
/// *Layer Normalization*, 2016).
///
/// # Shapes
///
/// - x, output: `[rows, width]`
/// - gamma, beta: `[width]`
///
/// # Panics
///
/// If the shapes do not fit.
pub fn layer_norm(x: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32) -> Vec<f32> {
    let width = gamma.len();
    assert!(beta.len() == width && x.len().is_multiple_of(width));
    let mut y = vec![0.0; x.len()];
    vectorized!({
        for (y, x) in y.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
            let (mean, scale) = moments(x, epsilon);
            let affine = gamma.iter().zip(beta);
            for ((y, x), (gamma, beta)) in y.iter_mut().zip(x).zip(affine) {
                *y = ((x - mean) * scale).mul_add(*gamma, *beta);
            }
        }
    });
    y
}

/// Turns the gradient of the output of [`layer_norm`] into that of `x`, and returns those of gamma and beta.
///
/// With n the normalised row, g the gradient of y and d = g gamma:
///
/// ```text
/// dx[t, c] = (d[t, c] - mean(d[t]) - n[t, c] mean(d[t] n[t])) / sqrt(variance(x[t]) + epsilon)
/// dgamma[c] = sum over t of g[t, c] n[t, c]
/// dbeta[c] = sum over t of g[t, c]
/// ```
///
/// # Panics
///
/// If the shapes do not fit.
pub fn layer_norm_gradient(
    x: &[f32],
    gamma: &[f32],
    epsilon: f32,
    gradient: &mut [f32],
) -> (Vec<f32>, Vec<f32>) {
    let width = gamma.len();
    assert!(x.len() == gradient.len() && x.len().is_multiple_of(width));
    let (mut of_gamma, mut of_beta) = (vec![0.0; width], vec![0.0; width]);
    let mut n = vec![0.0; width];
    vectorized!({
        for (g, x) in gradient.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
            let (mean, scale) = moments(x, epsilon);
            for (n, x) in n.iter_mut().zip(x) {
                *n = (x - mean) * scale;
            }
            for ((sum, g), n) in of_gamma.iter_mut().zip(g.iter()).zip(&n) {
                *sum += g * n;
            }
            // g becomes d
            for ((sum, g), gamma) in of_beta.iter_mut().zip(g.iter_mut()).zip(gamma) {
                *sum += *g;
                *g *= gamma;
            }
            let mean_d = sum(g) / width as f32;
            let mean_dn = sum_of(g, &n, |d, n| d * n) / width as f32;
            for (d, n) in g.iter_mut().zip(&n) {
                *d = scale * (*d - mean_d - n * mean_dn);
            }
        }
    });
    (of_gamma, of_beta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_to_mean_0_and_variance_1() {
        let x: Vec<f32> = (0..80).map(|i| 3.0 + (i as f32).sin()).collect();
        let y = layer_norm(&x, &[1.0; 40], &[0.0; 40], 1e-6);
        for row in y.chunks(40) {
            let mean = row.iter().sum::<f32>() / 40.0;
            let variance = row.iter().map(|y| y * y).sum::<f32>() / 40.0;
            assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4);
        }
    }
}
