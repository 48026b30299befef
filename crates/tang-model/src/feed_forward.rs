//! The position-wise feed-forward network of either family.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{
        Device, Tensor,
        activation::{sigmoid, silu},
    },
};

use crate::{Family, ModelConfig, ModelError, Weights};

/// A projection to a wider layer, a non-linearity, and a projection back.
#[derive(Module, Debug)]
pub(crate) struct FeedForward {
    input: Linear,
    output: Linear,
    gated: bool,
}

impl FeedForward {
    /// Takes the parameters below `path` out of `weights`.
    pub(crate) fn load(
        config: &ModelConfig,
        weights: &mut Weights,
        path: &str,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let (family, width, inner) = (config.family, config.width, config.feed_forward_width);
        let gated = matches!(family, Family::Llama { .. });
        // Gate and value are one projection, side by side.
        let columns = if gated { 2 * inner } else { inner };
        let input = format!("{path}.input");
        let output = format!("{path}.output");
        Ok(Self {
            input: weights.take_linear(family, &input, [width, columns], device)?,
            output: weights.take_linear(family, &output, [inner, width], device)?,
            gated,
        })
    }

    /// # Shapes
    ///
    /// - input: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        let hidden = self.input.forward(input);
        let activated = if self.gated {
            swiglu(hidden)
        } else {
            gelu_tanh(hidden)
        };
        self.output.forward(activated)
    }
}

/// SwiGLU (Shazeer, *GLU Variants Improve Transformer*, 2020): silu(gate) x value.
///
/// # Shapes
///
/// - gate_and_value: `[batch, length, 2 x inner]`
/// - output: `[batch, length, inner]`
fn swiglu(gate_and_value: Tensor<3>) -> Tensor<3> {
    let inner = gate_and_value.dims()[2] / 2;
    let gate = gate_and_value.clone().narrow(2, 0, inner);
    let value = gate_and_value.narrow(2, inner, inner);
    silu(gate) * value
}

/// The tanh form of GELU (Hendrycks & Gimpel, *Gaussian Error Linear Units*, 2016), which
/// Hugging Face calls `gelu_new`.
///
/// 0.5 x (1 + tanh u) equals x sigmoid(2 u); the second has a fused backward pass in Burn.
fn gelu_tanh(x: Tensor<3>) -> Tensor<3> {
    // 2 u = x (a + b x^2), a = 2 sqrt(2 / pi), b = 0.044715 a
    const A: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::SQRT_2;
    const B: f64 = 0.044715 * A;
    let slope = x.clone().square().mul_scalar(B).add_scalar(A);
    let gate = sigmoid(x.clone() * slope);
    x * gate
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUTS: [f32; 8] = [-6.0, -1.5, -0.1, 0.0, 0.3, 1.0, 2.0, 5.0];

    fn applied(function: fn(Tensor<3>) -> Tensor<3>) -> Vec<f32> {
        let inputs = Tensor::<1>::from_floats(INPUTS, &crate::device::cpu());
        function(inputs.unsqueeze())
            .into_data()
            .try_into_vec_as()
            .unwrap()
    }

    #[test]
    fn gelu_matches_its_definition() {
        for (x, y) in INPUTS.map(f64::from).into_iter().zip(applied(gelu_tanh)) {
            let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            let wanted = 0.5 * x * (1.0 + u.tanh());
            assert!((f64::from(y) - wanted).abs() < 1e-6, "{x}: {y} {wanted}");
        }
    }

    #[test]
    fn swiglu_matches_its_definition() {
        let (gates, values) = INPUTS.split_at(4);
        for (i, got) in applied(swiglu).into_iter().enumerate() {
            let gate = f64::from(gates[i]);
            let wanted = gate / (1.0 + (-gate).exp()) * f64::from(values[i]);
            assert!((f64::from(got) - wanted).abs() < 1e-6, "{got} {wanted}");
        }
    }
}
