//! GELU.

use burn::{
    backend::{TensorMetadata, flex::FlexTensor},
    tensor::{Tensor, activation::sigmoid},
};

use super::{Operation, change, floats, run, tensor};
use crate::device::is_cpu;

/// GELU in its tanh form, `gelu_new` at Hugging Face, of each number (see [`tang_kernels::gelu`]).
pub(crate) fn gelu(x: Tensor<3>) -> Tensor<3> {
    if is_cpu(&x.device()) { run(Gelu, [x.into_dispatch()]) } else { composed(x) }
}

/// x sigmoid(x (a + b x^2)), a = 2 sqrt(2 / pi), b = 0.044715 a.
fn composed(x: Tensor<3>) -> Tensor<3> {
    const A: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::SQRT_2;
    const B: f64 = 0.044715 * A;
    let slope = x.clone() * x.clone() * B + A;
    x.clone() * sigmoid(x * slope)
}

#[derive(Debug)]
struct Gelu;

impl Operation<1> for Gelu {
    type Saved = FlexTensor;

    fn forward(&self, [x]: [FlexTensor; 1]) -> (FlexTensor, FlexTensor) {
        (tensor(tang_kernels::gelu(floats(&x)), x.shape()), x)
    }

    fn backward(self, x: FlexTensor, gradient: FlexTensor) -> [FlexTensor; 1] {
        let kernel = |gradient: &mut [f32]| tang_kernels::gelu_gradient(floats(&x), gradient);
        [change(gradient, kernel).0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::tests::assert_same;

    #[test]
    fn equals_the_composed_form() {
        assert_same([[2, 3, 37]], |[x]| gelu(x), |[x]| composed(x));
    }
}
