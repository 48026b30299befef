//! One block of the Transformer.

use burn::{module::Module, tensor::Tensor};
use tang_checkpoint::{ModelConfig, ModelError};

use crate::{
    Dropout, attention::SelfAttention, device_cache::LayerSlot, feed_forward::FeedForward,
    loader::Loader, norm::Norm, rotary::Rotation,
};

/// Attention, then feed-forward, each on a normalised input and added to the residual stream
/// (pre-norm).
#[derive(Module, Debug)]
pub(crate) struct Block {
    attention_norm: Norm,
    attention: SelfAttention,
    feed_forward_norm: Norm,
    feed_forward: FeedForward,
}

impl Block {
    /// Takes the parameters below `path` out of the weights.
    pub(crate) fn load(
        config: &ModelConfig,
        loader: &mut Loader<'_>,
        path: &str,
    ) -> Result<Self, ModelError> {
        let below = |part: &str| format!("{path}.{part}");
        Ok(Self {
            attention_norm: Norm::load(config, loader, &below("attention_norm"))?,
            attention: SelfAttention::load(config, loader, &below("attention"))?,
            feed_forward_norm: Norm::load(config, loader, &below("feed_forward_norm"))?,
            feed_forward: FeedForward::load(config, loader, &below("feed_forward"))?,
        })
    }

    /// # Shapes
    ///
    /// - input: `[batch, length, width]`
    /// - output: `[batch, length, width]`
    pub(crate) fn forward(
        &self,
        input: Tensor<3>,
        rotation: Option<&Rotation>,
        slot: Option<LayerSlot<'_>>,
        dropout: Option<&Dropout>,
    ) -> Tensor<3> {
        let attended = self
            .attention
            .forward(input, &self.attention_norm, rotation, slot, dropout);
        self.feed_forward
            .forward(attended, &self.feed_forward_norm, dropout)
    }
}
