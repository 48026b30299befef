//! The norm of either family.

use burn::{
    module::Module,
    nn::{LayerNorm, LayerNormConfig, RmsNorm, RmsNormConfig},
    tensor::{Device, Tensor},
};

use crate::{Family, ModelConfig, ModelError, Weights};

/// Brings each position to unit scale before a projection reads it.
#[derive(Module, Debug)]
pub(crate) enum Norm {
    /// Mean 0 and variance 1 (Ba et al., *Layer Normalization*, 2016).
    Layer(LayerNorm),
    /// Mean square 1 (Zhang & Sennrich, *Root Mean Square Layer Normalization*, 2019).
    Rms(RmsNorm),
}

impl Norm {
    /// Takes the parameters below `path` out of `weights`.
    pub(crate) fn load(
        config: &ModelConfig,
        weights: &mut Weights,
        path: &str,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let width = config.width;
        let gamma = weights.take(&format!("{path}.weight"), [width], device)?;
        Ok(match config.family {
            Family::Gpt2 => {
                let norm = LayerNormConfig::new(width).with_epsilon(config.norm_eps);
                let mut norm = norm.init(device);
                norm.gamma = gamma;
                norm.beta = Some(weights.take(&format!("{path}.bias"), [width], device)?);
                Self::Layer(norm)
            }
            Family::Llama { .. } => {
                let norm = RmsNormConfig::new(width).with_epsilon(config.norm_eps);
                let mut norm = norm.init(device);
                norm.gamma = gamma;
                Self::Rms(norm)
            }
        })
    }

    /// # Shapes
    ///
    /// - input: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        match self {
            Self::Layer(norm) => norm.forward(input),
            Self::Rms(norm) => norm.forward(input),
        }
    }
}
