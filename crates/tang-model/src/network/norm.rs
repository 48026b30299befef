//! The norm of either family.

use burn::{
    module::{Module, Param},
    tensor::Tensor,
};
use tang_checkpoint::{Family, ModelConfig, ModelError};

use super::loader::Loader;
use crate::fused::{layer_norm, rms_norm};

/// Layer norm (Ba et al., *Layer Normalization*, 2016) in GPT-2, RMS norm (Zhang & Sennrich, *Root
/// Mean Square Layer Normalization*, 2019) in Llama.
#[derive(Module, Debug)]
pub(crate) struct Norm {
    gamma: Param<Tensor<1>>,
    /// Only layer norm has it.
    beta: Option<Param<Tensor<1>>>,
    /// Added to the variance, or to the mean square.
    #[module(skip)]
    eps: f64,
}

impl Norm {
    /// Takes the parameters below `path` out of the weights.
    pub(crate) fn load(
        config: &ModelConfig,
        loader: &mut Loader<'_>,
        path: &str,
    ) -> Result<Self, ModelError> {
        let mut take = |name: &str| loader.take(&format!("{path}.{name}"), [config.width]);
        Ok(Self {
            gamma: take("weight")?,
            beta: match config.family {
                Family::Gpt2 => Some(take("bias")?),
                Family::Llama { .. } => None,
            },
            eps: config.norm_eps,
        })
    }

    /// # Shapes
    ///
    /// - x, output: `[batch, length, width]`
    pub(crate) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        match &self.beta {
            Some(beta) => layer_norm(x, self.gamma.val(), beta.val(), self.eps),
            None => rms_norm(x, self.gamma.val(), self.eps),
        }
    }
}
