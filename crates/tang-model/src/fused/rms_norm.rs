//! RMS norm (see [`tang_kernels::rms_norm`]).

use burn::{
    backend::{
        Autodiff, Backend, Flex, TensorMetadata,
        autodiff::{
            checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
            grads::Gradients,
            ops::{Backward, Ops},
        },
        flex::FlexTensor,
        tensor::FloatTensor,
    },
    tensor::Shape,
};

use super::{change, read, tensor, track};

/// gamma x / sqrt(mean of x^2 + epsilon).
pub(super) fn composed<B: Backend>(
    x: FloatTensor<B>,
    gamma: FloatTensor<B>,
    epsilon: f64,
) -> FloatTensor<B> {
    let [_, _, width] = x.shape().dims();
    let square = B::float_mean_dim(B::float_mul(x.clone(), x.clone()), 2);
    let root = B::float_sqrt(B::float_add_scalar(square, epsilon.into()));
    let gamma = B::float_reshape(gamma, Shape::new([1, 1, width]));
    B::float_mul(B::float_div(x, root), gamma)
}

pub(super) fn forward(x: &FlexTensor, gamma: &FlexTensor, epsilon: f64) -> FlexTensor {
    let normed = read(x, |x| {
        read(gamma, |gamma| {
            tang_kernels::rms_norm(x, gamma, epsilon as f32)
        })
    });
    tensor(normed, x.shape())
}

#[derive(Debug)]
struct RmsNorm;

#[derive(Debug, Clone)]
struct Saved {
    x: FlexTensor,
    gamma: FlexTensor,
    epsilon: f64,
}

impl Backward<Flex, 2> for RmsNorm {
    type State = Saved;

    fn backward(
        self,
        ops: Ops<Self::State, 2>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let Saved { x, gamma, epsilon } = ops.state;
        let gradient = gradients.consume::<Flex>(&ops.node);
        let (of_x, of_gamma) = change(gradient, |gradient| {
            read(&x, |x| {
                read(&gamma, |gamma| {
                    tang_kernels::rms_norm_gradient(x, gamma, epsilon as f32, gradient)
                })
            })
        });
        let of_gamma = tensor(of_gamma, gamma.shape());
        for (node, gradient) in ops.parents.into_iter().zip([of_x, of_gamma]) {
            if let Some(node) = node {
                gradients.register::<Flex>(node.id, gradient);
            }
        }
    }
}

pub(super) fn differentiable<C: CheckpointStrategy>(
    x: FloatTensor<Autodiff<Flex, C>>,
    gamma: FloatTensor<Autodiff<Flex, C>>,
    epsilon: f64,
) -> FloatTensor<Autodiff<Flex, C>> {
    let output = forward(x.primitive(), gamma.primitive(), epsilon);
    let nodes = [x.node(), gamma.node()];
    let saved = || Saved {
        x: x.primitive().clone(),
        gamma: gamma.primitive().clone(),
        epsilon,
    };
    track::<C, _, _>(RmsNorm, nodes, saved, output)
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
        let epsilon = 1e-5;
        assert_same(
            [numbers(&[2, 3, 37], 0.0), numbers(&[37], 1.0)],
            |[x, gamma]| <Autodiff<Flex> as FusedOps>::fused_rms_norm(x, gamma, epsilon),
            |[x, gamma]| composed::<Autodiff<Flex>>(x, gamma, epsilon),
        );
    }
}
