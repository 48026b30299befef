//! The network: a decoder-only Transformer of either family, its key/value cache, and its
//! checkpoint files.
//!
//! Nothing here knows a character; tokens are numbers. Tensors live on the device that
//! [`device`] names, and nothing in this crate ever asks for gradients by itself: a trainer
//! moves the model to an autodiff device, a generator does not.

mod activation;
mod attention;
mod block;
pub mod device;
mod device_cache;
mod dropout;
mod error;
mod feed_forward;
mod fused;
mod loader;
mod network_decoder;
mod norm;
mod projection;
mod rotary;
mod transformer;

pub use dropout::Dropout;
pub use error::DeviceError;
pub use loader::parameter_id;
pub use network_decoder::{NetworkDecoder, NetworkModel};
pub use transformer::Transformer;
