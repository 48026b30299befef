//! Causal self-attention.

use burn::{
    backend::{TensorMetadata, flex::FlexTensor},
    tensor::{Tensor, module, ops::AttentionModuleOptions},
};
use tang_kernels::AttentionShape;

use super::{Operation, floats, run, tensor};
use crate::device::is_cpu;

/// Causal self-attention of each text over itself (see [`tang_kernels::attention`]).
///
/// # Shapes
///
/// - projection: `[batch, length, (heads + 2 kv_heads) x head_dim]`: queries, keys, values
/// - output: `[batch, length, heads x head_dim]`
pub(crate) fn self_attention(projection: Tensor<3>, heads: usize, kv_heads: usize) -> Tensor<3> {
    let [batch, length, columns] = projection.dims();
    let shape = AttentionShape {
        batch,
        length,
        heads,
        kv_heads,
        head_dim: columns / (heads + 2 * kv_heads),
    };
    if is_cpu(&projection.device()) {
        run(SelfAttention(shape), [projection.into_dispatch()])
    } else {
        composed(projection, shape)
    }
}

fn composed(projection: Tensor<3>, shape: AttentionShape) -> Tensor<3> {
    let AttentionShape { batch, length, heads, kv_heads, head_dim } = shape;
    let all = projection.reshape([batch, length, heads + 2 * kv_heads, head_dim]);
    let all = all.swap_dims(1, 2);
    let part = |start: usize, count: usize| {
        // Every query head needs a key/value head of its own.
        let group = heads / count;
        let part = all.clone().narrow(1, start, count);
        let part = part.reshape([batch, count, 1, length, head_dim]);
        let part = part.expand([batch, count, group, length, head_dim]);
        part.reshape([batch, heads, length, head_dim])
    };
    let options = AttentionModuleOptions { is_causal: true, ..Default::default() };
    let key = part(heads, kv_heads);
    let value = part(heads + kv_heads, kv_heads);
    let attended = module::attention(part(0, heads), key, value, None, None, options);
    attended.swap_dims(1, 2).reshape([batch, length, heads * head_dim])
}

#[derive(Debug)]
struct SelfAttention(AttentionShape);

impl Operation<1> for SelfAttention {
    type Saved = FlexTensor;

    fn forward(&self, [projection]: [FlexTensor; 1]) -> (FlexTensor, FlexTensor) {
        let Self(shape) = self;
        let attended = tang_kernels::attention(floats(&projection), *shape);
        let width = shape.heads * shape.head_dim;
        (tensor(attended, [shape.batch, shape.length, width]), projection)
    }

    fn backward(self, projection: FlexTensor, gradient: FlexTensor) -> [FlexTensor; 1] {
        let (values, gradient) = (floats(&projection), floats(&gradient));
        let result = tang_kernels::attention_gradient(values, gradient, self.0);
        [tensor(result, projection.shape())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::tests::assert_same;

    #[test]
    fn equals_the_composed_form() {
        // Lengths around the edges of tiles; one key/value head per head, shared ones, wide heads.
        for (length, heads, kv_heads, head_dim) in
            [(1, 4, 4, 8), (7, 4, 4, 32), (33, 4, 2, 16), (128, 2, 1, 32), (41, 1, 1, 64)]
        {
            let shape = AttentionShape { batch: 2, length, heads, kv_heads, head_dim };
            assert_same(
                [[2, length, (heads + 2 * kv_heads) * head_dim]],
                |[x]| self_attention(x, heads, kv_heads),
                |[x]| composed(x, shape),
            );
        }
    }
}
