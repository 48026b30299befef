//! GELU (see [`tang_kernels::gelu`]).

use burn::backend::{
    Autodiff, Backend, Flex, TensorMetadata,
    autodiff::{
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, Ops, unary},
    },
    flex::FlexTensor,
    tensor::FloatTensor,
};

use super::{change, read, tensor, track};

/// x sigmoid(x (a + b x^2)), a = 2 sqrt(2 / pi), b = 0.044715 a.
pub(super) fn composed<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    const A: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::SQRT_2;
    const B: f64 = 0.044715 * A;
    let square = B::float_mul(x.clone(), x.clone());
    let slope = B::float_add_scalar(B::float_mul_scalar(square, B.into()), A.into());
    let gate = B::sigmoid(B::float_mul(x.clone(), slope));
    B::float_mul(x, gate)
}

pub(super) fn forward(x: &FlexTensor) -> FlexTensor {
    tensor(read(x, tang_kernels::gelu), x.shape())
}

#[derive(Debug)]
struct Gelu;

impl Backward<Flex, 1> for Gelu {
    type State = FlexTensor;

    fn backward(
        self,
        ops: Ops<Self::State, 1>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        unary::<Flex, _>(ops.parents, ops.node, gradients, |gradient| {
            let (gradient, ()) = change(gradient, |gradient| {
                read(&ops.state, |x| tang_kernels::gelu_gradient(x, gradient));
            });
            gradient
        });
    }
}

pub(super) fn differentiable<C: CheckpointStrategy>(
    x: FloatTensor<Autodiff<Flex, C>>,
) -> FloatTensor<Autodiff<Flex, C>> {
    let output = forward(x.primitive());
    track::<C, _, _>(Gelu, [x.node()], || x.primitive().clone(), output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::{
        FusedOps,
        tests::{assert_same, numbers},
    };

    #[test]
    fn equals_the_composed_form() {
        assert_same(
            [numbers(&[2, 3, 37], 0.0)],
            |[x]| <Autodiff<Flex> as FusedOps>::gelu_tanh(x),
            |[x]| composed::<Autodiff<Flex>>(x),
        );
    }
}
