//! One block of the Transformer.

use burn::{
    module::Module,
    nn::LayerNorm,
    tensor::{Device, Tensor},
};

use crate::{
    ModelConfig, ModelError, Weights, attention::SelfAttention, feed_forward::FeedForward,
    kv_cache::LayerSlot,
};

/// Attention, then feed-forward, each on a normalised input and added to the residual stream
/// (pre-norm, as in GPT-2).
#[derive(Module, Debug)]
pub(crate) struct Block {
    attention_norm: LayerNorm,
    attention: SelfAttention,
    feed_forward_norm: LayerNorm,
    feed_forward: FeedForward,
}

impl Block {
    /// Takes the parameters below `path` out of `weights`.
    pub(crate) fn load(
        config: &ModelConfig,
        weights: &mut Weights,
        path: &str,
        device: &Device,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            attention_norm: weights.take_norm(&format!("{path}.ln_1"), config, device)?,
            attention: SelfAttention::load(config, weights, &format!("{path}.attn"), device)?,
            feed_forward_norm: weights.take_norm(&format!("{path}.ln_2"), config, device)?,
            feed_forward: FeedForward::load(config, weights, &format!("{path}.mlp"), device)?,
        })
    }

    /// # Shapes
    ///
    /// - input: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(&self, input: Tensor<3>, slot: Option<LayerSlot<'_>>) -> Tensor<3> {
        let normed = self.attention_norm.forward(input.clone());
        let attended = input + self.attention.forward(normed, slot);
        let normed = self.feed_forward_norm.forward(attended.clone());
        attended + self.feed_forward.forward(normed)
    }
}
