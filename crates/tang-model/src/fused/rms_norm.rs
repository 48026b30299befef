//! RMS norm.

use burn::{
    backend::{TensorMetadata, flex::FlexTensor},
    tensor::Tensor,
};

use super::{Operation, change, floats, run, tensor};
use crate::device::is_cpu;

/// RMS norm over the last dimension (see [`tang_kernels::rms_norm`]).
///
/// # Shapes
///
/// - x, output: `[batch, length, width]`
/// - gamma: `[width]`
pub(crate) fn rms_norm(x: Tensor<3>, gamma: Tensor<1>, epsilon: f64) -> Tensor<3> {
    if is_cpu(&x.device()) {
        let inputs = [x.into_dispatch(), gamma.into_dispatch()];
        run(RmsNorm(epsilon as f32), inputs)
    } else {
        composed(x, gamma, epsilon)
    }
}

/// x / sqrt(mean(x^2) + epsilon) gamma.
fn composed(x: Tensor<3>, gamma: Tensor<1>, epsilon: f64) -> Tensor<3> {
    let root = ((x.clone() * x.clone()).mean_dim(2) + epsilon).sqrt();
    x / root * gamma.unsqueeze()
}

/// The operation, with its epsilon.
#[derive(Debug)]
struct RmsNorm(f32);

impl Operation<2> for RmsNorm {
    type Saved = (FlexTensor, FlexTensor);

    fn forward(&self, [x, gamma]: [FlexTensor; 2]) -> (FlexTensor, Self::Saved) {
        let y = tang_kernels::rms_norm(floats(&x), floats(&gamma), self.0);
        (tensor(y, x.shape()), (x, gamma))
    }

    fn backward(self, (x, gamma): Self::Saved, gradient: FlexTensor) -> [FlexTensor; 2] {
        let (of_x, of_gamma) = change(gradient, |gradient| {
            tang_kernels::rms_norm_gradient(floats(&x), floats(&gamma), self.0, gradient)
        });
        [of_x, tensor(of_gamma, gamma.shape())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::tests::assert_same;

    #[test]
    fn equals_the_composed_form() {
        let epsilon = 1e-5;
        assert_same(
            [[2, 3, 37], [1, 1, 37]],
            |[x, gamma]| rms_norm(x, gamma.reshape([37]), epsilon),
            |[x, gamma]| composed(x, gamma.reshape([37]), epsilon),
        );
    }
}
