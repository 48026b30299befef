//! SwiGLU and its gradient.

use super::exp;
use crate::simd::vectorized;

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// y[t, c] = silu(gates[t, c]) values[t, c] (Shazeer, *GLU Variants Improve Transformer*, 2020).
///
/// # Shapes
///
/// - gates_and_values: `[rows, 2 inner]`, the gates of a row first
/// - output: `[rows, inner]`
///
/// # Panics
///
/// If there is no whole number of rows.
pub fn swiglu(gates_and_values: &[f32], inner: usize) -> Vec<f32> {
    assert!(gates_and_values.len().is_multiple_of(2 * inner));
    let mut y = vec![0.0; gates_and_values.len() / 2];
    vectorized!({
        let rows = gates_and_values.chunks_exact(2 * inner);
        for (row, y) in rows.zip(y.chunks_exact_mut(inner)) {
            let (gates, values) = row.split_at(inner);
            for ((y, gate), value) in y.iter_mut().zip(gates).zip(values) {
                *y = gate * sigmoid(*gate) * value;
            }
        }
    });
    y
}

/// Turns gates and values into their gradients, given that of the output of [`swiglu`].
///
/// # Panics
///
/// If the sizes do not fit.
pub fn swiglu_gradient(gates_and_values: &mut [f32], inner: usize, gradient: &[f32]) {
    assert!(gates_and_values.len().is_multiple_of(2 * inner));
    assert_eq!(gates_and_values.len(), 2 * gradient.len());
    vectorized!({
        let rows = gates_and_values.chunks_exact_mut(2 * inner);
        for (row, gradient) in rows.zip(gradient.chunks_exact(inner)) {
            let (gates, values) = row.split_at_mut(inner);
            // By index: zipped iterators stay scalar here, 4.3 instead of 0.6 ns a pair.
            for i in 0..inner {
                let (gate, value, g) = (gates[i], values[i], gradient[i]);
                // with s = sigmoid(x), d(x s)/dx = s + x s (1 - s)
                let s = sigmoid(gate);
                gates[i] = g * value * s * gate.mul_add(1.0 - s, 1.0);
                values[i] = g * gate * s;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(gate: f64, value: f64) -> f64 {
        gate / (1.0 + (-gate).exp()) * value
    }

    #[test]
    fn matches_its_definition_and_its_differences() {
        // Two rows of three gates and three values.
        let row = [-3.0, 0.5, 2.0, 1.5, -2.0, 0.25];
        let both = [row, row.map(|x| x * 0.7)].concat();
        let y = swiglu(&both, 3);
        let mut gradient = both.clone();
        swiglu_gradient(&mut gradient, 3, &[2.0; 6]);
        for (i, y) in y.into_iter().enumerate() {
            let at = i / 3 * 6 + i % 3;
            let (gate, value) = (f64::from(both[at]), f64::from(both[at + 3]));
            assert!((f64::from(y) - exact(gate, value)).abs() < 1e-6);
            let by_gate = (exact(gate + 1e-5, value) - exact(gate - 1e-5, value)) / 1e-5;
            assert!((f64::from(gradient[at]) - by_gate).abs() < 1e-6);
            let by_value = 2.0 * exact(gate, 1.0);
            assert!((f64::from(gradient[at + 3]) - by_value).abs() < 1e-6);
        }
    }
}
