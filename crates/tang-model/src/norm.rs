//! The norm of either family.

use burn::{
    module::{Module, Param},
    tensor::Tensor,
};
use tang_checkpoint::{Family, ModelConfig, ModelError};

use crate::{
    cpu_tensor::CpuTensor,
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

    /// Its numbers, on a device that has kernels.
    pub(crate) fn numbers(&self) -> NormNumbers {
        let (gamma, beta) = match &self.kind {
            Kind::Layer(norm) => (&norm.gamma, Some(CpuTensor::of(norm.beta.val()))),
            Kind::Rms(gamma) => (gamma, None),
        };
        NormNumbers {
            gamma: CpuTensor::of(gamma.val()),
            beta,
            eps: self.eps as f32,
        }
    }
}

/// The numbers of a norm, where a kernel reads them.
#[derive(Debug)]
pub(crate) struct NormNumbers {
    gamma: CpuTensor,
    /// A layer norm has it.
    beta: Option<CpuTensor>,
    eps: f32,
}

impl NormNumbers {
    /// # Shapes
    ///
    /// - rows, output: `[rows, width]`
    pub(crate) fn of_rows(&self, rows: &[f32]) -> Vec<f32> {
        let gamma = self.gamma.values();
        match &self.beta {
            Some(beta) => tang_kernels::layer_norm(rows, gamma, beta.values(), self.eps),
            None => tang_kernels::rms_norm(rows, gamma, self.eps),
        }
    }
}
