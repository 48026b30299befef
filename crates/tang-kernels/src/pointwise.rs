//! Functions of one number each, their gradients, and steps of an optimiser.

pub(crate) mod adam_w;
pub(crate) mod exp;
pub(crate) mod gelu;
pub(crate) mod rotary;
pub(crate) mod swiglu;
