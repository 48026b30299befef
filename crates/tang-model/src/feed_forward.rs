//! The position-wise feed-forward network of either family.

use burn::{module::Module, nn::Linear, tensor::Tensor};
use tang_checkpoint::{Family, ModelConfig, ModelError};

use crate::{
    Dropout,
    activation::Activation,
    loader::Loader,
    norm::Norm,
    projection::{Projection, Residual},
};

/// A projection to a wider layer, a non-linearity, and a projection back.
#[derive(Module, Debug)]
pub(crate) struct FeedForward {
    input: Linear,
    output: Linear,
    #[module(skip)]
    activation: Activation,
}

impl FeedForward {
    /// Takes the parameters below `path` out of the weights.
    pub(crate) fn load(
        config: &ModelConfig,
        loader: &mut Loader<'_>,
        path: &str,
    ) -> Result<Self, ModelError> {
        let (family, width, inner) = (config.family, config.width, config.feed_forward_width);
        let (activation, columns) = match family {
            Family::Gpt2 => (Activation::GeluTanh, inner),
            // Gate and value are one projection, side by side.
            Family::Llama { .. } => (Activation::SwiGlu, 2 * inner),
        };
        let input = format!("{path}.input");
        let output = format!("{path}.output");
        Ok(Self {
            input: loader.take_linear(family, &input, [width, columns])?,
            output: loader.take_linear(family, &output, [inner, width])?,
            activation,
        })
    }

    /// Adds to the residual stream what the network makes of it, normalised by `norm`.
    ///
    /// # Shapes
    ///
    /// - stream: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(
        &self,
        stream: Tensor<3>,
        norm: &Norm,
        dropout: Option<&Dropout>,
    ) -> Tensor<3> {
        let wide = Projection {
            norm: Some(norm),
            linear: &self.input,
            activation: Some(self.activation),
            residual: None,
        };
        let back = Projection {
            norm: None,
            linear: &self.output,
            activation: None,
            residual: Some(Residual {
                stream: stream.clone(),
                dropout,
            }),
        };
        back.forward(wide.forward(stream))
    }
}
