//! A linear layer with what stands before and behind it.

use burn::{nn::Linear, tensor::Tensor};

use crate::{Dropout, activation::Activation, fused::linear, norm::Norm};

/// What a block does four times: an optional norm, a matrix and its bias, an optional
/// non-linearity, and sometimes the way back into the residual stream.
pub(crate) struct Projection<'a> {
    pub(crate) norm: Option<&'a Norm>,
    pub(crate) linear: &'a Linear,
    pub(crate) activation: Option<Activation>,
    pub(crate) residual: Option<Residual<'a>>,
}

/// The way back into the residual stream.
pub(crate) struct Residual<'a> {
    /// To which the result is added, `[batch, length, d_output]`.
    pub(crate) stream: Tensor<3>,
    /// What the result loses before, in training.
    pub(crate) dropout: Option<&'a Dropout>,
}

impl Projection<'_> {
    /// # Shapes
    ///
    /// - input: `[batch, length, d_input]`
    /// - output: `[batch, length, d_output]`, `d_output` being what the activation leaves
    pub(crate) fn forward(self, input: Tensor<3>) -> Tensor<3> {
        let input = match self.norm {
            Some(norm) => norm.forward(input),
            None => input,
        };
        let mut output = project(self.linear, input);
        if let Some(activation) = self.activation {
            output = activation.forward(output);
        }
        let Some(Residual { stream, dropout }) = self.residual else {
            return output;
        };
        stream + dropped(output, dropout)
    }
}

/// What dropout, if there is any, leaves of a tensor.
///
/// # Shapes
///
/// - input, output: `[batch, length, width]`
pub(crate) fn dropped(input: Tensor<3>, dropout: Option<&Dropout>) -> Tensor<3> {
    match dropout {
        Some(dropout) => dropout.apply(input),
        None => input,
    }
}

/// Applies a layer to each position. All positions are rows of one product, which is faster than
/// one a text, above all for the gradient.
fn project(layer: &Linear, x: Tensor<3>) -> Tensor<3> {
    let weight = layer.weight.val();
    match &layer.bias {
        Some(bias) => linear(x, weight, bias.val()),
        None => {
            let [batch, length, inputs] = x.dims();
            let [_, outputs] = weight.dims();
            let product = x.reshape([batch * length, inputs]).matmul(weight);
            product.reshape([batch, length, outputs])
        }
    }
}
