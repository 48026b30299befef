//! Causal self-attention (see [`tang_kernels::attention`]).

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
    tensor::{Shape, Slice, ops::AttentionModuleOptions},
};
use tang_kernels::AttentionShape;

use super::{read, tensor, track};

/// What a projection `[batch, length, (heads + 2 kv_heads) x head_dim]` holds.
fn shape_of(projection: &impl TensorMetadata, heads: usize, kv_heads: usize) -> AttentionShape {
    let [batch, length, columns] = projection.shape().dims();
    AttentionShape {
        batch,
        length,
        heads,
        kv_heads,
        head_dim: columns / (heads + 2 * kv_heads),
    }
}

pub(super) fn composed<B: Backend>(
    projection: FloatTensor<B>,
    heads: usize,
    kv_heads: usize,
) -> FloatTensor<B> {
    let AttentionShape {
        batch,
        length,
        head_dim,
        ..
    } = shape_of(&projection, heads, kv_heads);
    let all = [batch, length, heads + 2 * kv_heads, head_dim];
    let all = B::float_swap_dims(B::float_reshape(projection, Shape::new(all)), 1, 2);
    let part = |start: usize, count: usize| {
        let slices = [
            Slice::full(),
            Slice::from(start..start + count),
            Slice::full(),
            Slice::full(),
        ];
        let part = B::float_slice(all.clone(), &slices);
        // Every query head needs a key/value head of its own.
        let group = heads / count;
        let part = B::float_reshape(part, Shape::new([batch, count, 1, length, head_dim]));
        let part = B::float_expand(part, Shape::new([batch, count, group, length, head_dim]));
        B::float_reshape(part, Shape::new([batch, heads, length, head_dim]))
    };
    let options = AttentionModuleOptions {
        is_causal: true,
        ..Default::default()
    };
    let key = part(heads, kv_heads);
    let value = part(heads + kv_heads, kv_heads);
    let attended = B::attention(part(0, heads), key, value, None, None, options);
    let merged = B::float_swap_dims(attended, 1, 2);
    B::float_reshape(merged, Shape::new([batch, length, heads * head_dim]))
}

pub(super) fn forward(projection: &FlexTensor, heads: usize, kv_heads: usize) -> FlexTensor {
    let shape = shape_of(projection, heads, kv_heads);
    let attended = read(projection, |values| tang_kernels::attention(values, shape));
    let width = heads * shape.head_dim;
    tensor(attended, [shape.batch, shape.length, width])
}

#[derive(Debug)]
struct SelfAttention;

impl Backward<Flex, 1> for SelfAttention {
    type State = (FlexTensor, AttentionShape);

    fn backward(
        self,
        ops: Ops<Self::State, 1>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let (projection, shape) = ops.state;
        unary::<Flex, _>(ops.parents, ops.node, gradients, |gradient| {
            let result = read(&projection, |projection| {
                read(&gradient, |gradient| {
                    tang_kernels::attention_gradient(projection, gradient, shape)
                })
            });
            tensor(result, projection.shape())
        });
    }
}

pub(super) fn differentiable<C: CheckpointStrategy>(
    projection: FloatTensor<Autodiff<Flex, C>>,
    heads: usize,
    kv_heads: usize,
) -> FloatTensor<Autodiff<Flex, C>> {
    let output = forward(projection.primitive(), heads, kv_heads);
    let nodes = [projection.node()];
    let saved = || {
        let shape = shape_of(projection.primitive(), heads, kv_heads);
        (projection.primitive().clone(), shape)
    };
    track::<C, _, _>(SelfAttention, nodes, saved, output)
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
        // Lengths around the edges of tiles; one key/value head a head, shared ones, wide heads.
        for (length, heads, kv_heads, head_dim) in [
            (1, 4, 4, 8),
            (7, 4, 4, 32),
            (33, 4, 2, 16),
            (128, 2, 1, 32),
            (41, 1, 1, 64),
        ] {
            assert_same(
                [numbers(
                    &[2, length, (heads + 2 * kv_heads) * head_dim],
                    0.0,
                )],
                |[x]| <Autodiff<Flex> as FusedOps>::fused_self_attention(x, heads, kv_heads),
                |[x]| composed::<Autodiff<Flex>>(x, heads, kv_heads),
            );
        }
    }
}
