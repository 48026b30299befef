//! The norm of either family.

use tang_checkpoint::{Family, ModelConfig, Weights};
use tang_kernels::{layer_norm, rms_norm};

/// Layer norm (Ba et al., *Layer Normalization*, 2016) in GPT-2, RMS norm (Zhang & Sennrich, *Root Mean Square Layer
/// Normalization*, 2019) in Llama.
#[derive(Debug)]
pub(crate) struct Norm {
    gamma: Vec<f32>,
    /// Only layer norm has it.
    beta: Option<Vec<f32>>,
    eps: f32,
}

impl Norm {
    /// The norm at `path`.
    pub(crate) fn new(config: &ModelConfig, weights: &Weights, path: &str) -> Self {
        let values = |name: &str| weights.values(&format!("{path}.{name}")).to_vec();
        Self {
            gamma: values("weight"),
            beta: matches!(config.family, Family::Gpt2).then(|| values("bias")),
            eps: config.norm_eps as f32,
        }
    }

    /// # Shapes
    ///
    /// - x, output: `[tokens, width]`
    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        match &self.beta {
            Some(beta) => layer_norm(x, &self.gamma, beta, self.eps),
            None => rms_norm(x, &self.gamma, self.eps),
        }
    }
}
