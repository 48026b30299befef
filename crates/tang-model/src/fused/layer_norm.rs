//! Layer norm.

use burn::{
    backend::{TensorMetadata, flex::FlexTensor},
    tensor::{Tensor, module},
};

use super::{Operation, change, floats, run, tensor};
use crate::device::is_cpu;

/// Layer norm over the last dimension (see [`tang_kernels::layer_norm`]).
///
/// # Shapes
///
/// - x, output: `[batch, length, width]`
/// - gamma, beta: `[width]`
pub(crate) fn layer_norm(
    x: Tensor<3>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
) -> Tensor<3> {
    if is_cpu(&x.device()) {
        let (gamma, beta) = (gamma.into_dispatch(), beta.into_dispatch());
        run(LayerNorm(epsilon as f32), [x.into_dispatch(), gamma, beta])
    } else {
        module::layer_norm(x, gamma, Some(beta), epsilon)
    }
}

/// The operation, with its epsilon.
#[derive(Debug)]
struct LayerNorm(f32);

impl Operation<3> for LayerNorm {
    type Saved = (FlexTensor, FlexTensor);

    fn forward(&self, [x, gamma, beta]: [FlexTensor; 3]) -> (FlexTensor, Self::Saved) {
        let y = tang_kernels::layer_norm(floats(&x), floats(&gamma), floats(&beta), self.0);
        (tensor(y, x.shape()), (x, gamma))
    }

    fn backward(self, (x, gamma): Self::Saved, gradient: FlexTensor) -> [FlexTensor; 3] {
        let (of_x, (of_gamma, of_beta)) = change(gradient, |gradient| {
            tang_kernels::layer_norm_gradient(floats(&x), floats(&gamma), self.0, gradient)
        });
        let [of_gamma, of_beta] = [of_gamma, of_beta].map(|sum| tensor(sum, gamma.shape()));
        [of_x, of_gamma, of_beta]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::tests::assert_same;

    #[test]
    fn equals_the_composed_form() {
        let epsilon = 1e-5;
        let vector = |tensor: Tensor<3>| tensor.reshape([37]);
        assert_same(
            [[2, 3, 37], [1, 1, 37], [1, 1, 37]],
            |[x, gamma, beta]| layer_norm(x, vector(gamma), vector(beta), epsilon),
            |[x, gamma, beta]| module::layer_norm(x, vector(gamma), Some(vector(beta)), epsilon),
        );
    }
}
