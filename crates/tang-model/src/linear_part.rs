//! A part of a linear layer, where a kernel reads it.

use std::ops::Range;

use burn::{nn::Linear, tensor::Tensor};
use tang_kernels::{add_to_rows, product};

use crate::cpu_tensor::CpuTensor;

/// Some columns of a linear layer, or some of its inputs, one row behind the other.
#[derive(Debug)]
pub(crate) struct LinearPart {
    /// `[inputs, columns]`
    weight: CpuTensor,
    bias: Option<CpuTensor>,
    inputs: usize,
}

impl LinearPart {
    /// Some columns: of a matrix they are copied together, unless they are all.
    pub(crate) fn of_columns(linear: &Linear, columns: &[Range<usize>]) -> Self {
        let bias = linear.bias.as_ref().map(|bias| some(bias.val(), columns));
        Self::new(some(linear.weight.val(), columns), bias)
    }

    /// Some inputs, whose products are a part of a sum, and the bias where it is asked for.
    pub(crate) fn of_inputs(linear: &Linear, inputs: Range<usize>, with_bias: bool) -> Self {
        let bias = linear.bias.as_ref().filter(|_| with_bias);
        let weight = linear.weight.val().narrow(0, inputs.start, inputs.len());
        Self::new(weight, bias.map(|bias| bias.val()))
    }

    fn new(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        let [inputs, _] = weight.dims();
        Self {
            weight: CpuTensor::of(weight),
            bias: bias.map(CpuTensor::of),
            inputs,
        }
    }

    /// # Shapes
    ///
    /// - rows: `[rows, inputs]`
    /// - output: `[rows, columns]`
    pub(crate) fn of_rows(&self, rows: &[f32]) -> Vec<f32> {
        let mut output = product(rows, self.weight.values(), self.inputs);
        if let Some(bias) = &self.bias {
            add_to_rows(&mut output, bias.values());
        }
        output
    }
}

/// Some places along the last dimension.
fn some<const D: usize>(tensor: Tensor<D>, places: &[Range<usize>]) -> Tensor<D> {
    let part = |places: &Range<usize>| {
        let tensor = tensor.clone();
        tensor.narrow(D - 1, places.start, places.len())
    };
    match places {
        [places] => part(places),
        _ => Tensor::cat(places.iter().map(part).collect(), D - 1),
    }
}
