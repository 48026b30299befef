//! The geometry of a network.

mod config;
mod family;
mod model_preset;
mod rope;

pub use config::ModelConfig;
pub use family::Family;
pub use model_preset::ModelPreset;
pub use rope::Rope;
pub(crate) use rope::RopeScaling;
