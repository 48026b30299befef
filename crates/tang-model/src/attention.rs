//! Causal self-attention that keeps its keys and values for later.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Tensor, activation::softmax},
};
use tang_checkpoint::{ModelConfig, ModelError};

use crate::{
    Dropout,
    device_cache::LayerSlot,
    fused::self_attention,
    loader::Loader,
    norm::Norm,
    projection::{Projection, Residual},
    rotary::Rotation,
};

/// The score of a place that must not be seen: no weight is left of it.
const HIDDEN: f32 = -1e9;

/// Causal self-attention (Vaswani et al., *Attention Is All You Need*, 2017) with one fused
/// projection for queries, keys and values, and as many key/value heads as the geometry has: one a
/// query head (multi-head), fewer (grouped; Ainslie et al., *GQA*, 2023) or one for all
/// (multi-query; Shazeer, *Fast Transformer Decoding*, 2019).
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
        let input = format!("{path}.input");
        let output = format!("{path}.output");
        Ok(Self {
            input: loader.take_linear(family, &input, [width, columns])?,
            output: loader.take_linear(family, &output, [width, width])?,
            heads: config.heads,
            kv_heads: config.kv_heads,
        })
    }

    /// Attends from each position to itself and all before it, the cached ones included, and adds
    /// what it gathers to the residual stream. What it reads of that is normalised by `norm`.
    ///
    /// # Shapes
    ///
    /// - stream: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(
        &self,
        stream: Tensor<3>,
        norm: &Norm,
        rotation: Option<&Rotation>,
        slot: Option<LayerSlot<'_>>,
        dropout: Option<&Dropout>,
    ) -> Tensor<3> {
        let projected = Projection {
            norm: Some(norm),
            linear: &self.input,
            activation: None,
            residual: None,
        }
        .forward(stream.clone());
        let merged = self.attend(projected, rotation, slot);
        Projection {
            norm: None,
            linear: &self.output,
            activation: None,
            residual: Some(Residual { stream, dropout }),
        }
        .forward(merged)
    }

    /// # Shapes
    ///
    /// - projected: `[batch, length, (heads + 2 kv_heads) x head_dim]`: queries, keys and values
    /// - output: `[batch, length, heads x head_dim]`
    fn attend(
        &self,
        projected: Tensor<3>,
        rotation: Option<&Rotation>,
        slot: Option<LayerSlot<'_>>,
    ) -> Tensor<3> {
        let [batch, length, columns] = projected.dims();
        let (heads, kv_heads) = (self.heads, self.kv_heads);
        let projected = match rotation {
            Some(rotation) => rotation.apply(projected, heads + kv_heads),
            None => projected,
        };
        let Some(slot) = slot else {
            // As in all of training: the packed projection as it is.
            return self_attention(projected, heads, kv_heads);
        };
        let head_dim = columns / (heads + 2 * kv_heads);
        // [batch, length, columns] -> [batch, heads or kv_heads, length, head_dim], three of them
        let [query, key, value] = projected
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
        weights
            .matmul(values)
            .reshape([batch, heads, length, head_dim])
            .swap_dims(1, 2)
            .reshape([batch, length, heads * head_dim])
    }
}
