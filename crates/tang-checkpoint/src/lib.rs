//! Model folders in Hugging Face layout: the geometry of a network, the names and shapes of its
//! parameters, its weights on the host, and the files that contain them.
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

mod error;
mod geometry;
mod host_tensor;
mod hugging_face;
mod model_folder;
mod weights;

pub use error::ModelError;
pub use geometry::{Family, ModelConfig, ModelPreset, Rope};
pub use hugging_face::{ParameterSpec, parameters};
pub use model_folder::ModelFolder;
pub use weights::Weights;
