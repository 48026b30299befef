//! SwiGLU (see [`tang_kernels::swiglu`]).

use burn::{
    backend::{
        Autodiff, Backend, Flex, TensorMetadata,
        autodiff::{
            checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
            grads::Gradients,
            ops::{Backward, Ops, unary},
        },
        flex::FlexTensor,
        tensor::FloatTensor,
    },
    tensor::Slice,
};

use super::{change, read, tensor, track};

/// silu(gate) x value.
pub(super) fn composed<B: Backend>(gates_and_values: FloatTensor<B>) -> FloatTensor<B> {
    let [_, _, columns] = gates_and_values.shape().dims();
    let inner = columns / 2;
    let part = |start: usize| {
        let slices = [
            Slice::full(),
            Slice::full(),
            Slice::from(start..start + inner),
        ];
        B::float_slice(gates_and_values.clone(), &slices)
    };
    let gate = part(0);
    let silu = B::float_mul(gate.clone(), B::sigmoid(gate));
    B::float_mul(silu, part(inner))
}

pub(super) fn forward(gates_and_values: &FlexTensor) -> FlexTensor {
    let [batch, length, columns] = gates_and_values.shape().dims();
    let inner = columns / 2;
    let output = read(gates_and_values, |x| tang_kernels::swiglu(x, inner));
    tensor(output, [batch, length, inner])
}

#[derive(Debug)]
struct Swiglu;

impl Backward<Flex, 1> for Swiglu {
    type State = FlexTensor;

    fn backward(
        self,
        ops: Ops<Self::State, 1>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        unary::<Flex, _>(ops.parents, ops.node, gradients, |gradient| {
            let [_, _, inner] = gradient.shape().dims();
            let (result, ()) = change(ops.state, |x| {
                read(&gradient, |gradient| {
                    tang_kernels::swiglu_gradient(x, inner, gradient);
                });
            });
            result
        });
    }
}

pub(super) fn differentiable<C: CheckpointStrategy>(
    gates_and_values: FloatTensor<Autodiff<Flex, C>>,
) -> FloatTensor<Autodiff<Flex, C>> {
    let output = forward(gates_and_values.primitive());
    let nodes = [gates_and_values.node()];
    track::<C, _, _>(
        Swiglu,
        nodes,
        || gates_and_values.primitive().clone(),
        output,
    )
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
            [numbers(&[2, 3, 2 * 37], 0.0)],
            |[x]| <Autodiff<Flex> as FusedOps>::fused_swiglu(x),
            |[x]| composed::<Autodiff<Flex>>(x),
        );
    }
}
