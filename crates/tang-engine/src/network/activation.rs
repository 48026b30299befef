//! The non-linearity of either family's feed-forward network.

use tang_checkpoint::Family;
use tang_kernels::{gelu, swiglu};

/// The step between the two matrices of a feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    /// The tanh form of GELU (Hendrycks & Gimpel, *Gaussian Error Linear Units*, 2016).
    GeluTanh,
    /// SwiGLU (Shazeer, *GLU Variants Improve Transformer*, 2020): silu(gate) x value.
    SwiGlu,
}

impl Activation {
    /// The one that a family has.
    pub(crate) fn of(family: Family) -> Self {
        match family {
            Family::Gpt2 => Self::GeluTanh,
            Family::Llama { .. } => Self::SwiGlu,
        }
    }

    /// # Shapes
    ///
    /// - x: `[tokens, width]`; for SwiGLU a token has its gates, then its values
    /// - output: `[tokens, width]`, for SwiGLU `[tokens, width / 2]`
    pub(crate) fn forward(self, x: &[f32], width: usize) -> Vec<f32> {
        match self {
            Self::GeluTanh => gelu(x),
            Self::SwiGlu => swiglu(x, width / 2),
        }
    }
}
