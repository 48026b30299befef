//! A linear layer with what stands before and behind it.

use burn::{nn::Linear, tensor::Tensor};

use crate::{
    Dropout,
    activation::Activation,
    device::{CpuTensor, has_kernels},
    fused::linear,
    norm::Norm,
};

/// Rows up to which reading a matrix takes longer than multiplying with it.
pub(crate) const FEW_ROWS: usize = 8;

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
        let has_kernels = has_kernels(&input.device());
        let input = match self.norm {
            Some(norm) => norm.forward(input),
            None => input,
        };
        match has_kernels {
            true => self.in_place(input),
            false => self.plain(input),
        }
    }

    fn plain(self, input: Tensor<3>) -> Tensor<3> {
        let mut output = project(self.linear, input);
        if let Some(activation) = self.activation {
            output = activation.forward(output);
        }
        let Some(Residual { stream, dropout }) = self.residual else {
            return output;
        };
        stream + dropped(output, dropout)
    }

    /// The same by kernels, on a device that has them.
    fn in_place(self, input: Tensor<3>) -> Tensor<3> {
        let [batch, length, d_input] = input.dims();
        let rows = batch * length;
        let weight = self.linear.weight.val();
        let shape = [batch, length, weight.dims()[1]];
        let mut output = if rows <= FEW_ROWS {
            let (input, weight) = (CpuTensor::of(input), CpuTensor::of(weight));
            let product = tang_kernels::matvec(&input, &weight, d_input);
            CpuTensor::of(CpuTensor::tensor(product, shape))
        } else {
            let product = input.reshape([rows, d_input]).matmul(weight);
            CpuTensor::of(product.reshape(shape))
        };
        if let Some(bias) = &self.linear.bias {
            tang_kernels::add_to_rows(output.values_mut(), CpuTensor::of(bias.val()).values());
        }
        let output = match self.activation {
            Some(activation) => activation.in_place(output, shape),
            None => output.into_tensor(),
        };
        match self.residual {
            Some(Residual { stream, dropout }) => {
                let mut sum = CpuTensor::of(dropped(output, dropout));
                tang_kernels::add_to_rows(sum.values_mut(), CpuTensor::of(stream).values());
                sum.into_tensor()
            }
            None => output,
        }
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
