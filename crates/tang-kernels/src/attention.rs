//! Causal attention: over a cache, and over whole texts with its gradient.

pub(crate) mod cached;
pub(crate) mod gradient;
pub(crate) mod training;
