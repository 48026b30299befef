//! SwiGLU.

use burn::{
    backend::{TensorMetadata, flex::FlexTensor},
    tensor::{Tensor, activation::silu},
};

use super::{Operation, change, floats, run, tensor};
use crate::device::is_cpu;

/// SwiGLU: silu(gate) x value (see [`tang_kernels::swiglu`]).
///
/// # Shapes
///
/// - gates_and_values: `[batch, length, 2 x inner]`, the gates first
/// - output: `[batch, length, inner]`
pub(crate) fn swiglu(gates_and_values: Tensor<3>) -> Tensor<3> {
    if is_cpu(&gates_and_values.device()) {
        run(SwiGlu, [gates_and_values.into_dispatch()])
    } else {
        composed(gates_and_values)
    }
}

fn composed(gates_and_values: Tensor<3>) -> Tensor<3> {
    let [_, _, columns] = gates_and_values.dims();
    let part = |start| gates_and_values.clone().narrow(2, start, columns / 2);
    silu(part(0)) * part(columns / 2)
}

#[derive(Debug)]
struct SwiGlu;

impl Operation<1> for SwiGlu {
    type Saved = FlexTensor;

    fn forward(&self, [x]: [FlexTensor; 1]) -> (FlexTensor, FlexTensor) {
        let [batch, length, columns] = x.shape().dims();
        let inner = columns / 2;
        let output = tang_kernels::swiglu(floats(&x), inner);
        (tensor(output, [batch, length, inner]), x)
    }

    fn backward(self, x: FlexTensor, gradient: FlexTensor) -> [FlexTensor; 1] {
        let [_, _, inner] = gradient.shape().dims();
        let kernel = |x: &mut [f32]| tang_kernels::swiglu_gradient(x, inner, floats(&gradient));
        [change(x, kernel).0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::tests::assert_same;

    #[test]
    fn equals_the_composed_form() {
        assert_same([[2, 3, 2 * 37]], |[x]| swiglu(x), |[x]| composed(x));
    }
}
