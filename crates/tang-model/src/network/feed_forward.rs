//! The position-wise feed-forward network of either family.

use burn::{module::Module, nn::Linear, tensor::Tensor};
use tang_checkpoint::{Family, ModelConfig, ModelError};

use super::loader::{Loader, project};
use crate::fused::{gelu, swiglu};

/// A projection to a wider layer, a non-linearity, and a projection back.
///
/// GPT-2 has the tanh form of GELU (Hendrycks & Gimpel, *Gaussian Error Linear Units*, 2016), Llama has
/// SwiGLU (Shazeer, *GLU Variants Improve Transformer*, 2020), which halves the width.
#[derive(Module, Debug)]
pub(crate) struct FeedForward {
    input: Linear,
    output: Linear,
    #[module(skip)]
    family: Family,
}

impl FeedForward {
    /// Takes the parameters below `path` out of the weights.
    pub(crate) fn load(
        config: &ModelConfig,
        loader: &mut Loader<'_>,
        path: &str,
    ) -> Result<Self, ModelError> {
        let (family, width, inner) = (config.family, config.width, config.feed_forward_width);
        let columns = match family {
            Family::Gpt2 => inner,
            // Gates and values are one projection, side by side.
            Family::Llama { .. } => 2 * inner,
        };
        Ok(Self {
            input: loader.take_linear(family, &format!("{path}.input"), [width, columns])?,
            output: loader.take_linear(family, &format!("{path}.output"), [inner, width])?,
            family,
        })
    }

    /// # Shapes
    ///
    /// - x, output: `[batch, length, width]`
    pub(crate) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let wide = project(&self.input, x);
        let activated = match self.family {
            Family::Gpt2 => gelu(wide),
            Family::Llama { .. } => swiglu(wide),
        };
        project(&self.output, activated)
    }
}
