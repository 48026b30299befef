//! Model folders in Hugging Face layout: the geometry of a network, the names and shapes of its
//! parameters, its weights on the host, and the files that hold them.
//!
//! No tensor library is needed to read or write a model.
//!
//! ```
//! use tang_checkpoint::{ModelConfig, parameters};
//!
//! // 128 wide, 4 layers, 128 positions, a vocabulary of 6,289
//! let config = ModelConfig::tang_4l(6_289);
//! let count: usize = parameters(&config).iter().map(|tensor| tensor.numel()).sum();
//! assert_eq!(count, 1_614_720);
//! assert_eq!(config.cache_bytes_per_token(), 4_096);
//! ```

mod config;
mod config_fields;
mod error;
mod family;
mod gpt2;
mod hf_tensors;
mod host_tensor;
mod json_file;
mod llama;
mod model_folder;
mod model_preset;
mod parameters;
mod rope;
mod rope_json;
mod tensor_file;
mod weight_files;
mod weights;

pub use config::ModelConfig;
pub use error::ModelError;
pub use family::Family;
pub use host_tensor::HostTensor;
pub use model_folder::ModelFolder;
pub use model_preset::ModelPreset;
pub use parameters::{Initial, ParameterSpec, Stored, parameters};
pub use rope::{Rope, RopeScaling};
pub use weight_files::WEIGHTS_FILE;
pub use weights::Weights;
