//! Causal self-attention that keeps its keys and values for later.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor, module::attention, ops::AttentionModuleOptions},
};

use crate::{ModelConfig, ModelError, Weights, kv_cache::LayerSlot};

/// Multi-head causal self-attention (Vaswani et al., *Attention Is All You Need*, 2017) with one
/// fused projection for queries, keys and values.
#[derive(Module, Debug)]
pub(crate) struct SelfAttention {
    query_key_value: Linear,
    output: Linear,
    heads: usize,
}

impl SelfAttention {
    /// Takes the parameters below `path` out of `weights`.
    pub(crate) fn load(
        config: &ModelConfig,
        weights: &mut Weights,
        path: &str,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let width = config.width;
        let query_key_value =
            weights.take_linear(&format!("{path}.c_attn"), [width, 3 * width], device)?;
        let output = weights.take_linear(&format!("{path}.c_proj"), [width, width], device)?;
        Ok(Self {
            query_key_value,
            output,
            heads: config.heads,
        })
    }

    /// Attends from each position to itself and all before it, the cached ones included.
    ///
    /// # Shapes
    ///
    /// - input: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(&self, input: Tensor<3>, slot: Option<LayerSlot<'_>>) -> Tensor<3> {
        let [batch, length, width] = input.dims();
        let head_dim = width / self.heads;
        // [batch, length, 3 x width] -> 3 of [batch, heads, length, head_dim]
        let [query, key, value] = self
            .query_key_value
            .forward(input)
            .reshape([batch, length, 3 * self.heads, head_dim])
            .swap_dims(1, 2)
            .split(self.heads, 1)
            .try_into()
            .expect("3 x heads split by heads gives three parts");

        let (key, value, mask) = match slot {
            Some(slot) => slot.append(key, value),
            None => (key, value, None),
        };
        let options = AttentionModuleOptions {
            // Bottom-right aligned: the last query sees every key.
            is_causal: mask.is_none(),
            ..Default::default()
        };
        let mask = mask.map(|mask| {
            let [_, _, _, keys] = mask.dims();
            mask.expand([batch, self.heads, length, keys])
        });
        let heads = attention(query, key, value, mask, None, options);
        let merged = heads.swap_dims(1, 2).reshape([batch, length, width]);
        self.output.forward(merged)
    }
}
