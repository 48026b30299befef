//! SwiGLU (see [`tang_kernels::swiglu`]).

use burn::{
    backend::{
        Autodiff, Backend, Flex, TensorMetadata,
        autodiff::{
            checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
            grads::Gradients,
            ops::{Backward, Ops, OpsKind},
        },
        flex::FlexTensor,
        tensor::FloatTensor,
    },
    tensor::Slice,
};

use super::{change, read, tensor};

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
        let [node] = ops.parents;
        let gradient = gradients.consume::<Flex>(&ops.node);
        let [_, _, inner] = gradient.shape().dims();
        if let Some(node) = node {
            let (result, ()) = change(ops.state, |x| {
                read(&gradient, |gradient| {
                    tang_kernels::swiglu_gradient(x, inner, gradient);
                });
            });
            gradients.register::<Flex>(node.id, result);
        }
    }
}

pub(super) fn differentiable<C: CheckpointStrategy>(
    gates_and_values: FloatTensor<Autodiff<Flex, C>>,
) -> FloatTensor<Autodiff<Flex, C>> {
    let output = forward(gates_and_values.primitive());
    let nodes = [gates_and_values.node()];
    match Swiglu.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(gates_and_values.primitive().clone(), output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    }
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
