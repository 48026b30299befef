//! The network: a decoder-only Transformer of either family, its key/value cache, and its
//! checkpoint files.
//!
//! Nothing here knows a character; tokens are numbers. Tensors live on the device that
//! [`device`] names, and nothing in this crate ever asks for gradients by itself: a trainer
//! moves the model to an autodiff device, a generator does not.

mod activation;
mod attention;
mod block;
mod block_part;
mod cache_store;
mod config;
mod config_fields;
mod cpu_tensor;
pub mod device;
mod dropout;
mod error;
mod family;
mod feed_forward;
mod fused;
mod gpt2;
mod head_panels;
mod hf_tensors;
mod host_tensor;
mod json_file;
mod kv_cache;
mod linear_part;
mod llama;
mod memory;
mod model_folder;
mod model_preset;
mod norm;
mod parameters;
mod pass;
mod projection;
mod ready_blocks;
mod rope;
mod rope_json;
mod rotary;
mod side;
mod tensor_file;
mod transformer;
mod weight_files;
mod weights;

pub use config::ModelConfig;
pub use dropout::Dropout;
pub use error::ModelError;
pub use family::Family;
pub use kv_cache::KvCache;
pub use memory::check_cache_memory;
pub use model_folder::ModelFolder;
pub use model_preset::ModelPreset;
pub use parameters::{Initial, ParameterSpec, Stored, parameter_id, parameters};
pub use rope::{Rope, RopeScaling};
pub use tang_kernels::{largest, log_sum_exp, read_once};
pub use transformer::Transformer;
pub use weight_files::WEIGHTS_FILE;
pub use weights::Weights;
