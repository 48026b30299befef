//! Causal self-attention.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Tensor, activation::softmax},
};
use tang_checkpoint::{ModelConfig, ModelError};

use super::{
    device_cache::LayerSlot,
    loader::{Loader, project},
    rotation::Rotation,
};
use crate::fused::{rotary, self_attention};

/// Score of a masked position, which gives it the weight 0. It is finite, since shaders need not
/// support infinities.
const HIDDEN: f32 = -1e9;

/// Causal self-attention (Vaswani et al., *Attention Is All You Need*, 2017) with one packed
/// projection for queries, keys and values, and one key/value head per query head (multi-head), fewer
/// (grouped; Ainslie et al., *GQA*, 2023) or one for all (multi-query; Shazeer, *Fast Transformer
/// Decoding*, 2019).
#[derive(Module, Debug)]
pub(crate) struct SelfAttention {
    input: Linear,
    output: Linear,
    heads: usize,
    kv_heads: usize,
}

impl SelfAttention {
    /// Takes the parameters below `path` out of the weights.
    pub(crate) fn load(
        config: &ModelConfig,
        loader: &mut Loader<'_>,
        path: &str,
    ) -> Result<Self, ModelError> {
        let (family, width) = (config.family, config.width);
        let columns = width + 2 * config.kv_heads * config.head_dim();
        Ok(Self {
            input: loader.take_linear(family, &format!("{path}.input"), [width, columns])?,
            output: loader.take_linear(family, &format!("{path}.output"), [width, width])?,
            heads: config.heads,
            kv_heads: config.kv_heads,
        })
    }

    /// Attends from each position to itself and all before it, the cached ones included.
    ///
    /// # Shapes
    ///
    /// - x, output: `[batch, length, width]`
    pub(crate) fn forward(
        &self,
        x: Tensor<3>,
        rotation: Option<&Rotation>,
        slot: Option<LayerSlot<'_>>,
    ) -> Tensor<3> {
        let (heads, kv_heads) = (self.heads, self.kv_heads);
        // [batch, length, (heads + 2 kv_heads) head_dim]: queries, keys and values
        let mut qkv = project(&self.input, x);
        if let Some(Rotation { cos, sin }) = rotation {
            qkv = rotary(qkv, cos.clone(), sin.clone(), heads + kv_heads);
        }
        let attended = match slot {
            Some(slot) => self.attend_cached(qkv, slot),
            None => self_attention(qkv, heads, kv_heads),
        };
        project(&self.output, attended)
    }

    /// # Shapes
    ///
    /// - qkv: `[batch, length, (heads + 2 kv_heads) head_dim]`
    /// - output: `[batch, length, heads x head_dim]`
    fn attend_cached(&self, qkv: Tensor<3>, slot: LayerSlot<'_>) -> Tensor<3> {
        let [batch, length, columns] = qkv.dims();
        let (heads, kv_heads) = (self.heads, self.kv_heads);
        let head_dim = columns / (heads + 2 * kv_heads);
        // [batch, heads or kv_heads, length, head_dim], three of them
        let [query, key, value] = qkv
            .reshape([batch, length, heads + 2 * kv_heads, head_dim])
            .swap_dims(1, 2)
            .split_with_sizes(vec![heads, kv_heads, kv_heads], 1)
            .try_into()
            .expect("three sizes give three parts");
        let (keys, values, hidden) = slot.append(key, value);
        let [_, _, _, places] = hidden.dims();
        // The query heads that share a key/value head are rows of one product with it.
        let rows = heads / kv_heads * length;
        let query = query.reshape([batch, kv_heads, rows, head_dim]);
        let scores = query.matmul(keys) / (head_dim as f64).sqrt();
        let scores = scores
            .reshape([batch, heads, length, places])
            .mask_fill(hidden.expand([batch, heads, length, places]), HIDDEN);
        let weights = softmax(scores, 3).reshape([batch, kv_heads, rows, places]);
        weights.matmul(values).reshape([batch, heads, length, head_dim]).swap_dims(1, 2).reshape([
            batch,
            length,
            heads * head_dim,
        ])
    }
}
