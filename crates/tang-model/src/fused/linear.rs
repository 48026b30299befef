//! A projection with a bias.

use burn::{
    backend::{
        Autodiff, Flex, TensorMetadata,
        autodiff::{
            checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
            grads::Gradients,
            ops::{Backward, Ops},
        },
        flex::FlexTensor,
        ops::FloatTensorOps,
        tensor::FloatTensor,
    },
    tensor::Shape,
};

use super::{change, read, tensor, track};

/// All positions as rows of one matrix: one large product is faster than one a text.
fn rows(x: FlexTensor) -> FlexTensor {
    let [batch, length, width] = x.shape().dims();
    Flex::float_reshape(x, Shape::new([batch * length, width]))
}

pub(super) fn forward(x: FlexTensor, weight: FlexTensor, bias: &FlexTensor) -> FlexTensor {
    let [batch, length, _] = x.shape().dims();
    let [_, columns] = weight.shape().dims();
    let product = Flex::float_matmul(rows(x), weight);
    let (sum, ()) = change(product, |sum| {
        read(bias, |bias| tang_kernels::add_to_rows(sum, bias));
    });
    Flex::float_reshape(sum, Shape::new([batch, length, columns]))
}

#[derive(Debug)]
struct Linear;

#[derive(Debug, Clone)]
struct Saved {
    x: FlexTensor,
    weight: FlexTensor,
}

impl Backward<Flex, 3> for Linear {
    type State = Saved;

    fn backward(
        self,
        ops: Ops<Self::State, 3>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let Saved { x, weight } = ops.state;
        let gradient = rows(gradients.consume::<Flex>(&ops.node));
        let [of_x, of_weight, of_bias] = ops.parents;
        if let Some(node) = of_bias {
            let [_, columns] = gradient.shape().dims();
            let sums = read(&gradient, |rows| tang_kernels::sum_of_rows(rows, columns));
            gradients.register::<Flex>(node.id, tensor(sums, [columns]));
        }
        if let Some(node) = of_x {
            let shape = x.shape();
            let weight = Flex::float_swap_dims(weight, 0, 1);
            let product = Flex::float_matmul(gradient.clone(), weight);
            gradients.register::<Flex>(node.id, Flex::float_reshape(product, shape));
        }
        if let Some(node) = of_weight {
            let x = Flex::float_swap_dims(rows(x), 0, 1);
            gradients.register::<Flex>(node.id, Flex::float_matmul(x, gradient));
        }
    }
}

pub(super) fn differentiable<C: CheckpointStrategy>(
    x: FloatTensor<Autodiff<Flex, C>>,
    weight: FloatTensor<Autodiff<Flex, C>>,
    bias: FloatTensor<Autodiff<Flex, C>>,
) -> FloatTensor<Autodiff<Flex, C>> {
    let output = forward(
        x.primitive().clone(),
        weight.primitive().clone(),
        bias.primitive(),
    );
    let nodes = [x.node(), weight.node(), bias.node()];
    let saved = || Saved {
        x: x.primitive().clone(),
        weight: weight.primitive().clone(),
    };
    track::<C, _, _>(Linear, nodes, saved, output)
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
        assert_same(
            [
                numbers(&[3, 5, 17], 0.0),
                numbers(&[17, 37], 1.0),
                numbers(&[37], 2.0),
            ],
            |[x, weight, bias]| <Autodiff<Flex> as FusedOps>::fused_linear(x, weight, bias),
            |[x, weight, bias]| <Autodiff<Flex> as ModuleOps<_>>::linear(x, weight, Some(bias)),
        );
    }
}
