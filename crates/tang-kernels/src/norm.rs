//! Norms and their gradients.

pub(crate) mod layer_norm;
pub(crate) mod rms_norm;
