//! Models as Hugging Face transformers describes and stores them.

mod config_fields;
mod format;
mod gpt2;
mod llama;
mod parameters;
mod rope_json;
mod tensors;

pub(crate) use format::Format;
pub(crate) use parameters::{Initial, TOKEN_EMBEDDING, UNTIED_HEAD};
pub use parameters::{ParameterSpec, parameters};
pub(crate) use tensors::{from_hf, to_hf};
