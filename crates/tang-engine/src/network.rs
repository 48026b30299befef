//! The network: packed weights and the forward pass.

pub(crate) mod engine;
pub(crate) mod forward;
pub(crate) mod layer;
pub(crate) mod linear;
pub(crate) mod logits;
pub(crate) mod norm;
pub(crate) mod shard;
