//! The growth of poems, token by token.

pub(crate) mod batch;
mod batch_part;
pub(crate) mod generator;
mod queue;
pub(crate) mod rows;
pub(crate) mod sequence;
