//! Models, opened.

pub mod embedded_model;
pub mod example_heads;
pub mod loaded_model;

pub use self::{
    embedded_model::embedded_model,
    example_heads::example_heads,
    loaded_model::{LoadedModel, ready},
};
