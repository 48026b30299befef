//! One block of the Transformer.

use burn::{module::Module, tensor::Tensor};
use tang_checkpoint::{ModelConfig, ModelError};

use super::{
    attention::SelfAttention,
    device_cache::LayerSlot,
    dropout::{Dropout, dropped},
    feed_forward::FeedForward,
    loader::Loader,
    norm::Norm,
    rotation::Rotation,
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
    /// - x, output: `[batch, length, width]`
    pub(crate) fn forward(
        &self,
        x: Tensor<3>,
        rotation: Option<&Rotation>,
        slot: Option<LayerSlot<'_>>,
        dropout: Option<&Dropout>,
    ) -> Tensor<3> {
        let normed = self.attention_norm.forward(x.clone());
        let attended = self.attention.forward(normed, rotation, slot);
        let x = x + dropped(attended, dropout);
        let normed = self.feed_forward_norm.forward(x.clone());
        x + dropped(self.feed_forward.forward(normed), dropout)
    }
}
