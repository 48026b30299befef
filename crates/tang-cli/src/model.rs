//! Models, opened.

pub mod embedded_model;
pub mod example_heads;
pub mod loaded_model;
