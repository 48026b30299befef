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
mod cpu_tensor;
pub mod device;
mod dropout;
mod feed_forward;
mod fused;
mod head_panels;
mod kv_cache;
mod linear_part;
mod loader;
mod memory;
mod norm;
mod pass;
mod projection;
mod ready_blocks;
mod rotary;
mod side;
mod transformer;

pub use dropout::Dropout;
pub use kv_cache::KvCache;
pub use loader::parameter_id;
pub use memory::check_cache_memory;
pub use tang_checkpoint::{
    Family, Initial, ModelConfig, ModelError, ModelFolder, ModelPreset, ParameterSpec, Rope,
    RopeScaling, Stored, WEIGHTS_FILE, Weights, parameters,
};
pub use tang_kernels::{largest, log_sum_exp, read_once};
pub use transformer::Transformer;
