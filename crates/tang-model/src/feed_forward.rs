//! The position-wise feed-forward network.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor, activation::sigmoid},
};

use crate::{ModelConfig, ModelError, Weights};

/// Two linear layers with a GELU between them.
#[derive(Module, Debug)]
pub(crate) struct FeedForward {
    up: Linear,
    down: Linear,
}

impl FeedForward {
    /// Takes the parameters below `path` out of `weights`.
    pub(crate) fn load(
        config: &ModelConfig,
        weights: &mut Weights,
        path: &str,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let (width, inner) = (config.width, config.feed_forward_width());
        Ok(Self {
            up: weights.take_linear(&format!("{path}.c_fc"), [width, inner], device)?,
            down: weights.take_linear(&format!("{path}.c_proj"), [inner, width], device)?,
        })
    }

    /// # Shapes
    ///
    /// - input: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        self.down.forward(gelu_tanh(self.up.forward(input)))
    }
}

/// The tanh form of GELU (Hendrycks & Gimpel, *Gaussian Error Linear Units*, 2016), which
/// Hugging Face calls `gelu_new`.
///
/// 0.5 x (1 + tanh u) equals x sigmoid(2 u); the second has a fused backward pass in Burn.
fn gelu_tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
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

    #[test]
    fn gelu_matches_its_definition() {
        let inputs = [-6.0_f32, -1.5, -0.1, 0.0, 0.3, 1.0, 2.0, 5.0];
        let device = crate::device::cpu();
        let outputs: Vec<f32> = gelu_tanh(Tensor::<1>::from_floats(inputs, &device))
            .into_data()
            .try_into_vec_as()
            .unwrap();
        for (x, y) in inputs.map(f64::from).into_iter().zip(outputs) {
            let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            let wanted = 0.5 * x * (1.0 + u.tanh());
            assert!((f64::from(y) - wanted).abs() < 1e-6, "{x}: {y} {wanted}");
        }
    }
}
