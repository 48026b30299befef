//! Rotary positions (see [`tang_kernels::Rotary`]).

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
    tensor::{Shape, Slice},
};
use tang_kernels::Rotary;

use super::{change, read, track};

/// (a, b) -> (a cos - b sin, b cos + a sin) for each pair.
pub(super) fn composed<B: Backend>(
    projection: FloatTensor<B>,
    cos: FloatTensor<B>,
    sin: FloatTensor<B>,
    heads: usize,
) -> FloatTensor<B> {
    let [batch, length, columns] = projection.shape().dims();
    let [texts, _, half] = cos.shape().dims();
    let table = |table| B::float_reshape(table, Shape::new([texts, length, 1, half]));
    let (cos, sin) = (table(cos), table(sin));
    let columns_of = |start: usize, end: usize| {
        let slices = [Slice::full(), Slice::full(), Slice::from(start..end)];
        B::float_slice(projection.clone(), &slices)
    };
    let turned = columns_of(0, 2 * half * heads);
    let turned = B::float_reshape(turned, Shape::new([batch, length, heads, 2 * half]));
    let numbers = |start: usize| {
        let all = Slice::full();
        let slices = [all, all, all, Slice::from(start..start + half)];
        B::float_slice(turned.clone(), &slices)
    };
    let (a, b) = (numbers(0), numbers(half));
    let product = |x: &FloatTensor<B>, y: &FloatTensor<B>| B::float_mul(x.clone(), y.clone());
    let pairs = vec![
        B::float_sub(product(&a, &cos), product(&b, &sin)),
        B::float_add(product(&b, &cos), product(&a, &sin)),
    ];
    let shape = Shape::new([batch, length, 2 * half * heads]);
    let turned = B::float_reshape(B::float_cat(pairs, 3), shape);
    B::float_cat(vec![turned, columns_of(2 * half * heads, columns)], 2)
}

/// Gives the projection and the angles to `kernel`, with the number of columns.
fn change_by(
    projection: FlexTensor,
    (cos, sin): (&FlexTensor, &FlexTensor),
    kernel: impl FnOnce(Rotary<'_>, &mut [f32], usize),
) -> FlexTensor {
    let [_, _, columns] = projection.shape().dims();
    let [_, _, half] = cos.shape().dims();
    let (changed, ()) = change(projection, |projection| {
        read(cos, |cos| {
            read(sin, |sin| {
                let head_dim = 2 * half;
                kernel(Rotary { cos, sin, head_dim }, projection, columns);
            })
        })
    });
    changed
}

pub(super) fn forward(
    projection: FlexTensor,
    cos: &FlexTensor,
    sin: &FlexTensor,
    heads: usize,
) -> FlexTensor {
    change_by(projection, (cos, sin), |rotary, projection, columns| {
        rotary.turn(projection, columns, heads);
    })
}

#[derive(Debug)]
struct Rotation;

#[derive(Debug, Clone)]
struct Saved {
    cos: FlexTensor,
    sin: FlexTensor,
    heads: usize,
}

impl Backward<Flex, 1> for Rotation {
    type State = Saved;

    fn backward(
        self,
        ops: Ops<Self::State, 1>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let Saved { cos, sin, heads } = ops.state;
        unary::<Flex, _>(ops.parents, ops.node, gradients, |gradient| {
            change_by(gradient, (&cos, &sin), |rotary, gradient, columns| {
                rotary.turn_back(gradient, columns, heads);
            })
        });
    }
}

/// The angles are constants: they get no gradient.
pub(super) fn differentiable<C: CheckpointStrategy>(
    projection: FloatTensor<Autodiff<Flex, C>>,
    cos: FloatTensor<Autodiff<Flex, C>>,
    sin: FloatTensor<Autodiff<Flex, C>>,
    heads: usize,
) -> FloatTensor<Autodiff<Flex, C>> {
    let (cos, sin) = (cos.into_primitive(), sin.into_primitive());
    // Moved, so that the numbers are turned where they lie.
    let (projection, node) = projection.into_parts();
    let output = forward(projection, &cos, &sin, heads);
    track::<C, _, _>(Rotation, [node], || Saved { cos, sin, heads }, output)
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
        // One table for all texts, and one each; a half that fills no vector.
        for (texts, half) in [(1, 16), (3, 5)] {
            let table = |seed| FloatTensor::<Autodiff<Flex>>::new(numbers(&[texts, 7, half], seed));
            let (cos, sin) = (table(1.0), table(2.0));
            let tables = || (cos.clone(), sin.clone());
            assert_same(
                [numbers(&[3, 7, 4 * 2 * half], 0.0)],
                |[x]| {
                    let (cos, sin) = tables();
                    <Autodiff<Flex> as FusedOps>::fused_rotary(x, cos, sin, 3)
                },
                |[x]| {
                    let (cos, sin) = tables();
                    composed::<Autodiff<Flex>>(x, cos, sin, 3)
                },
            );
        }
    }
}
