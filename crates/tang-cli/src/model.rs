//! Models, opened.

pub mod embedded_model;
pub mod example_heads;
pub mod lab_model;
pub mod loaded_model;

pub use self::{
    embedded_model::embedded_model,
    example_heads::example_heads,
    lab_model::{open_lab_model, open_lab_models},
    loaded_model::{LoadedModel, ready},
};
