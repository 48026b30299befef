//! The network: a decoder-only Transformer, its key/value cache, and its checkpoint files.
//!
//! Nothing here knows a character; tokens are numbers. Tensors live on the device that
//! [`device`] names, and nothing in this crate ever asks for gradients by itself: a trainer
//! moves the model to an autodiff device, a generator does not.

mod attention;
mod block;
mod config;
pub mod device;
mod error;
mod feed_forward;
mod kv_cache;
mod model_folder;
mod parameters;
mod transformer;
mod weights;

pub use config::ModelConfig;
pub use error::ModelError;
pub use kv_cache::KvCache;
pub use model_folder::{ModelFolder, WEIGHTS_FILE};
pub use parameters::{Initial, ParameterSpec, parameter_id, parameters};
pub use transformer::Transformer;
pub use weights::Weights;
