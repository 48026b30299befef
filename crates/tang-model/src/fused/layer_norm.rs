//! Layer norm (see [`tang_kernels::layer_norm`]).

use burn::backend::{
    Autodiff, Flex, TensorMetadata,
    autodiff::{
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, Ops},
    },
    flex::FlexTensor,
    tensor::FloatTensor,
};

use super::{change, read, tensor, track};

pub(super) fn forward(
    x: &FlexTensor,
    gamma: &FlexTensor,
    beta: &FlexTensor,
    epsilon: f64,
) -> FlexTensor {
    let normed = read(x, |x| {
        read(gamma, |gamma| {
            read(beta, |beta| {
                tang_kernels::layer_norm(x, gamma, beta, epsilon as f32)
            })
        })
    });
    tensor(normed, x.shape())
}

#[derive(Debug)]
struct LayerNorm;

#[derive(Debug, Clone)]
struct Saved {
    x: FlexTensor,
    gamma: FlexTensor,
    epsilon: f64,
}

impl Backward<Flex, 3> for LayerNorm {
    type State = Saved;

    fn backward(
        self,
        ops: Ops<Self::State, 3>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let Saved { x, gamma, epsilon } = ops.state;
        let gradient = gradients.consume::<Flex>(&ops.node);
        let (of_x, sums) = change(gradient, |gradient| {
            read(&x, |x| {
                read(&gamma, |gamma| {
                    tang_kernels::layer_norm_gradient(x, gamma, epsilon as f32, gradient)
                })
            })
        });
        let of_gamma = tensor(sums.gamma, gamma.shape());
        let of_beta = tensor(sums.beta, gamma.shape());
        for (node, gradient) in ops.parents.into_iter().zip([of_x, of_gamma, of_beta]) {
            if let Some(node) = node {
                gradients.register::<Flex>(node.id, gradient);
            }
        }
    }
}

pub(super) fn differentiable<C: CheckpointStrategy>(
    x: FloatTensor<Autodiff<Flex, C>>,
    gamma: FloatTensor<Autodiff<Flex, C>>,
    beta: FloatTensor<Autodiff<Flex, C>>,
    epsilon: f64,
) -> FloatTensor<Autodiff<Flex, C>> {
    let output = forward(x.primitive(), gamma.primitive(), beta.primitive(), epsilon);
    let nodes = [x.node(), gamma.node(), beta.node()];
    let saved = || Saved {
        x: x.primitive().clone(),
        gamma: gamma.primitive().clone(),
        epsilon,
    };
    track::<C, _, _>(LayerNorm, nodes, saved, output)
}

#[cfg(test)]
mod tests {
    use burn::backend::ops::ModuleOps;

    use super::*;
    use crate::fused::{
        FusedOps,
        tests::{assert_same, numbers},
    };

    #[test]
    fn equals_the_composed_form() {
        let epsilon = 1e-5;
        assert_same(
            [
                numbers(&[2, 3, 37], 0.0),
                numbers(&[37], 1.0),
                numbers(&[37], 2.0),
            ],
            |[x, gamma, beta]| {
                <Autodiff<Flex> as FusedOps>::fused_layer_norm(x, gamma, beta, epsilon)
            },
            |[x, gamma, beta]| {
                <Autodiff<Flex> as ModuleOps<_>>::layer_norm(x, gamma, Some(beta), epsilon)
            },
        );
    }
}
