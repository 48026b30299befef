//! Layer norm and its gradients, one pass over the rows each.

use pulp::{Arch, Simd, WithSimd};

use crate::reduce::lanes;

/// What [`layer_norm_gradient`] finds besides the gradient of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerNormGradient {
    /// With respect to the factors, one a column.
    pub gamma: Vec<f32>,
    /// With respect to the summands, one a column.
    pub beta: Vec<f32>,
}

/// Mean, and 1 / sqrt(variance + epsilon).
#[inline(always)]
fn moments(row: &[f32], epsilon: f32) -> (f32, f32) {
    let mean = lanes::sum(row) / row.len() as f32;
    let square = lanes::sum_of(row, row, |x, _| (x - mean) * (x - mean));
    (mean, 1.0 / (square / row.len() as f32 + epsilon).sqrt())
}

/// Brings each row to mean 0 and variance 1, then to `gamma` times that plus `beta` (Ba et al.,
/// *Layer Normalization*, 2016).
///
/// # Shapes
///
/// - x, output: rows as wide as `gamma` and `beta`
///
/// # Panics
///
/// If the shapes do not fit.
pub fn layer_norm(x: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32) -> Vec<f32> {
    let width = gamma.len();
    assert!(beta.len() == width && x.len().is_multiple_of(width));
    let mut y = vec![0.0; x.len()];
    Arch::new().dispatch(Forward {
        x,
        gamma,
        beta,
        epsilon,
        y: &mut y,
    });
    y
}

struct Forward<'a> {
    x: &'a [f32],
    gamma: &'a [f32],
    beta: &'a [f32],
    epsilon: f32,
    y: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.gamma.len();
        let rows = self.y.chunks_exact_mut(width);
        for (y, x) in rows.zip(self.x.chunks_exact(width)) {
            let (mean, scale) = moments(x, self.epsilon);
            let affine = self.gamma.iter().zip(self.beta);
            for ((y, x), (gamma, beta)) in y.iter_mut().zip(x).zip(affine) {
                *y = ((x - mean) * scale).mul_add(*gamma, *beta);
            }
        }
    }
}

/// Turns gradients of what [`layer_norm`] gave into gradients of the `x` it was given, and adds up
/// those of `gamma` and `beta`.
///
/// With n the normalised row and g = gradient x gamma, the gradient of x is
/// scale (g - mean(g) - n mean(g n)).
///
/// # Panics
///
/// If the shapes do not fit.
pub fn layer_norm_gradient(
    x: &[f32],
    gamma: &[f32],
    epsilon: f32,
    gradient: &mut [f32],
) -> LayerNormGradient {
    let width = gamma.len();
    assert!(x.len() == gradient.len() && x.len().is_multiple_of(width));
    let mut sums = LayerNormGradient {
        gamma: vec![0.0; width],
        beta: vec![0.0; width],
    };
    Arch::new().dispatch(Gradient {
        x,
        gamma,
        epsilon,
        gradient,
        sums: &mut sums,
    });
    sums
}

struct Gradient<'a> {
    x: &'a [f32],
    gamma: &'a [f32],
    epsilon: f32,
    gradient: &'a mut [f32],
    sums: &'a mut LayerNormGradient,
}

impl WithSimd for Gradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.gamma.len();
        let mut normed = vec![0.0; width];
        let rows = self.gradient.chunks_exact_mut(width);
        for (g, x) in rows.zip(self.x.chunks_exact(width)) {
            let (mean, scale) = moments(x, self.epsilon);
            for (n, x) in normed.iter_mut().zip(x) {
                *n = (x - mean) * scale;
            }
            for ((sum, g), n) in self.sums.gamma.iter_mut().zip(g.iter()).zip(&normed) {
                *sum += g * n;
            }
            let sums = self.sums.beta.iter_mut();
            for ((sum, g), gamma) in sums.zip(g.iter_mut()).zip(self.gamma) {
                *sum += *g;
                *g *= gamma;
            }
            let mean_g = lanes::sum(g) / width as f32;
            let mean_gn = lanes::sum_of(g, &normed, |g, n| g * n) / width as f32;
            for (g, n) in g.iter_mut().zip(&normed) {
                *g = scale * (*g - mean_g - n * mean_gn);
            }
        }
    }
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
