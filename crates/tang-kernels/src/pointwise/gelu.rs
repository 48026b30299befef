//! The tanh form of GELU and its gradient.

use super::exp;
use crate::simd::vectorized;

// 0.5 x (1 + tanh u) equals x sigmoid(2 u), and 2 u = x (A + B x^2).
const A: f32 = std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::SQRT_2;
const B: f32 = 0.044_715 * A;

/// sigmoid(2 u).
#[inline(always)]
fn gate(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x * (x * x).mul_add(B, A)))
}

/// `y[i] = x[i] sigmoid(2 u[i])`: `gelu_new` (Hendrycks & Gimpel, *Gaussian Error Linear Units*, 2016).
pub fn gelu(x: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; x.len()];
    vectorized!({
        for (y, x) in y.iter_mut().zip(x) {
            *y = x * gate(*x);
        }
    });
    y
}

/// Turns the gradient of the output of [`gelu`] into that of `x`.
///
/// # Panics
///
/// If the lengths differ.
pub fn gelu_gradient(x: &[f32], gradient: &mut [f32]) {
    assert_eq!(x.len(), gradient.len());
    vectorized!({
        for (g, x) in gradient.iter_mut().zip(x) {
            // with s = sigmoid(2 u), d(x s)/dx = s + x s (1 - s) d(2 u)/dx
            let s = gate(*x);
            let slope = (x * x).mul_add(3.0 * B, A);
            *g *= (x * slope * (1.0 - s)).mul_add(s, s);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(x: f64) -> f64 {
        let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
        0.5 * x * (1.0 + u.tanh())
    }

    #[test]
    fn matches_its_definition_and_its_differences() {
        let x: Vec<f32> = (-800..=800).map(|i| i as f32 * 0.01).collect();
        let mut gradient = vec![1.0; x.len()];
        gelu_gradient(&x, &mut gradient);
        for ((x, y), gradient) in x.iter().zip(gelu(&x)).zip(gradient) {
            let x = f64::from(*x);
            assert!((f64::from(y) - exact(x)).abs() < 1e-6, "{x}: {y}");
            let wanted = (exact(x + 1e-5) - exact(x - 1e-5)) / 2e-5;
            assert!((f64::from(gradient) - wanted).abs() < 2e-6, "{x}: {gradient} {wanted}");
        }
    }
}
