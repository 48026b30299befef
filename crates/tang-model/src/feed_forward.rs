//! The position-wise feed-forward network of either family.

use std::slice;

use burn::{module::Module, nn::Linear, tensor::Tensor};
use tang_checkpoint::{Family, ModelConfig, ModelError};

use crate::{
    Dropout,
    activation::Activation,
    block_part::FeedForwardPart,
    linear_part::LinearPart,
    loader::Loader,
    norm::Norm,
    projection::{Projection, Residual},
    side::Side,
};

/// Numbers of the widest vectors: sides are cut between them.
const VECTOR: usize = 16;

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

    /// The columns of one side, on a device that has kernels; none if it has no column.
    pub(crate) fn part(&self, norm: &Norm, side: Side) -> Option<FeedForwardPart> {
        let [inner, _] = self.output.weight.dims();
        let part = side.part(inner, VECTOR);
        let values = inner + part.start..inner + part.end;
        let gates_and_values = [part.clone(), values];
        let all = 0..2 * inner;
        let columns = match (self.activation, side) {
            (Activation::GeluTanh, _) => slice::from_ref(&part),
            (Activation::SwiGlu, Side::WHOLE) => slice::from_ref(&all),
            (Activation::SwiGlu, _) => &gates_and_values,
        };
        (!part.is_empty()).then(|| FeedForwardPart {
            norm: norm.numbers(),
            input: LinearPart::of_columns(&self.input, columns),
            output: LinearPart::of_inputs(&self.output, part.clone(), side.index == 0),
            activation: self.activation,
        })
    }
}
