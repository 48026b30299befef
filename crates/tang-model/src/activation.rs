//! The non-linearity of either family's feed-forward network.

use burn::tensor::Tensor;

use crate::fused::{gelu, swiglu};

/// What a feed-forward network does between its two projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    /// The tanh form of GELU (Hendrycks & Gimpel, *Gaussian Error Linear Units*, 2016), which
    /// Hugging Face calls `gelu_new`: 0.5 x (1 + tanh u), computed as x sigmoid(2 u).
    GeluTanh,
    /// SwiGLU (Shazeer, *GLU Variants Improve Transformer*, 2020): silu(gate) x value, which halves
    /// the width.
    SwiGlu,
}

impl Activation {
    /// # Shapes
    ///
    /// - input: `[batch, length, inner]`, for SwiGLU `[batch, length, 2 x inner]`
    /// - output: `[batch, length, inner]`
    pub(crate) fn forward(self, input: Tensor<3>) -> Tensor<3> {
        match self {
            Self::GeluTanh => gelu(input),
            Self::SwiGlu => swiglu(input),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUTS: [f32; 8] = [-6.0, -1.5, -0.1, 0.0, 0.3, 1.0, 2.0, 5.0];

    fn applied(activation: Activation) -> Vec<f32> {
        let inputs = Tensor::<1>::from_floats(INPUTS, &crate::device::cpu()).unsqueeze::<3>();
        activation
            .forward(inputs)
            .into_data()
            .try_into_vec_as()
            .unwrap()
    }

    #[test]
    fn gelu_matches_its_definition() {
        let outputs = applied(Activation::GeluTanh);
        for (x, y) in INPUTS.map(f64::from).into_iter().zip(outputs) {
            let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            let wanted = 0.5 * x * (1.0 + u.tanh());
            assert!((f64::from(y) - wanted).abs() < 1e-6, "{x}: {y} {wanted}");
        }
    }

    #[test]
    fn swiglu_matches_its_definition() {
        let (gates, values) = INPUTS.split_at(4);
        let outputs = applied(Activation::SwiGlu);
        assert_eq!(outputs.len(), 4);
        for (i, got) in outputs.into_iter().enumerate() {
            let gate = f64::from(gates[i]);
            let wanted = gate / (1.0 + (-gate).exp()) * f64::from(values[i]);
            assert!((f64::from(got) - wanted).abs() < 1e-6, "{got} {wanted}");
        }
    }
}
