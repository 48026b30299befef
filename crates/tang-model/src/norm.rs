//! The norm of either family.

use burn::{
    module::{Module, Param},
    tensor::Tensor,
};
use tang_checkpoint::{Family, ModelConfig, ModelError};

use crate::{
    fused::{layer_norm, rms_norm},
    loader::Loader,
};

/// Brings each position to unit scale before a projection reads it.
#[derive(Module, Debug)]
pub(crate) struct Norm {
    kind: Kind,
    /// Added to the variance, or mean square.
    #[module(skip)]
    eps: f64,
}

#[derive(Module, Debug)]
enum Kind {
    /// Mean 0 and variance 1 (Ba et al., *Layer Normalization*, 2016).
    Layer(LayerNorm),
    /// Mean square 1 (Zhang & Sennrich, *Root Mean Square Layer Normalization*, 2019).
    Rms(Param<Tensor<1>>),
}

#[derive(Module, Debug)]
struct LayerNorm {
    gamma: Param<Tensor<1>>,
    beta: Param<Tensor<1>>,
}

impl Norm {
    /// Takes the parameters below `path` out of the weights.
    pub(crate) fn load(
        config: &ModelConfig,
        loader: &mut Loader<'_>,
        path: &str,
    ) -> Result<Self, ModelError> {
        let width = config.width;
        let gamma = loader.take(&format!("{path}.weight"), [width])?;
        let kind = match config.family {
            Family::Gpt2 => Kind::Layer(LayerNorm {
                gamma,
                beta: loader.take(&format!("{path}.bias"), [width])?,
            }),
            Family::Llama { .. } => Kind::Rms(gamma),
        };
        let eps = config.norm_eps;
        Ok(Self { kind, eps })
    }

    /// # Shapes
    ///
    /// - input: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        match &self.kind {
            Kind::Layer(norm) => layer_norm(input, norm.gamma.val(), norm.beta.val(), self.eps),
            Kind::Rms(gamma) => rms_norm(input, gamma.val(), self.eps),
        }
    }
}
