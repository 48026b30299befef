//! The way from logits to a token.

pub(crate) mod candidates;
pub(crate) mod generation_config;
pub(crate) mod pipeline;
pub(crate) mod processor;
mod sampler;
pub(crate) mod tie;
