//! The non-linearities of the feed-forward networks.

use pulp::{Arch, Simd, WithSimd};

use super::exp::exp;

/// x sigmoid(x (a + b x^2)) in place of each x: GELU in its tanh form where a is 2 sqrt(2 / pi) and
/// b is 0.044715 a.
pub(crate) fn gelu_tanh(values: &mut [f32], a: f32, b: f32) {
    Arch::new().dispatch(Gelu { values, a, b });
}

/// silu(gate) x value, the first half of each row being gates and the second values.
///
/// # Shapes
///
/// - gate_and_value: `[rows, 2 x inner]`
/// - output: `[rows, inner]`
pub(crate) fn swiglu(gate_and_value: &[f32], inner: usize) -> Vec<f32> {
    Arch::new().dispatch(SwiGlu {
        gate_and_value,
        inner,
    })
}

struct Gelu<'a> {
    values: &'a mut [f32],
    a: f32,
    b: f32,
}

impl WithSimd for Gelu<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { values, a, b } = self;
        for x in values {
            *x = gated(*x, *x * (a + b * *x * *x));
        }
    }
}

struct SwiGlu<'a> {
    gate_and_value: &'a [f32],
    inner: usize,
}

impl WithSimd for SwiGlu<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f32> {
        let inner = self.inner;
        let mut out = vec![0.0; self.gate_and_value.len() / 2];
        let rows = self.gate_and_value.chunks_exact(2 * inner);
        for (out, row) in out.chunks_exact_mut(inner).zip(rows) {
            let (gates, values) = row.split_at(inner);
            for ((out, gate), value) in out.iter_mut().zip(gates).zip(values) {
                *out = gated(*gate, *gate) * value;
            }
        }
        out
    }
}

/// x sigmoid(gate)
#[inline(always)]
fn gated(x: f32, gate: f32) -> f32 {
    x / (1.0 + exp(-gate))
}
