//! The network: a decoder-only Transformer of either family as Burn modules, for training and for decoding
//! on a GPU.
//!
//! There are no characters here, only token ids. Tensors are on the device that [`device`] names,
//! and nothing in this crate asks for gradients by itself: a trainer moves the network to an
//! autodiff device, a decoder does not.
//!
//! ```
//! use burn::tensor::{Int, Tensor, activation::log_softmax};
//! use tang_checkpoint::{ModelConfig, ModelError, Weights};
//! use tang_model::{Transformer, device};
//!
//! # fn main() -> Result<(), ModelError> {
//! let config = ModelConfig { layers: 1, context: 8, tied_head: false, ..ModelConfig::tang_4l(7) };
//! let device = device::cpu();
//! let network = Transformer::new(config, Weights::random(&config, 0), &device)?;
//!
//! let inputs = Tensor::<2, Int>::from_ints([[0, 3, 4], [0, 6, 5]], &device);
//! let targets = Tensor::<2, Int>::from_ints([[3], [4], [0], [6], [5], [0]], &device);
//! let hidden = network.forward(inputs, None); // [2, 3, width]
//! let logits = network.logits(hidden.reshape([6, config.width])); // [6, 7]
//! let loss: f32 = log_softmax(logits, 1).gather(1, targets).mean().neg().into_scalar();
//! // Random weights know nothing: each of 7 tokens is about as likely.
//! assert!((loss - 7_f32.ln()).abs() < 0.3, "{loss}");
//! # Ok(())
//! # }
//! ```

pub mod device;
mod error;
mod fused;
mod network;
mod network_decoder;

pub use error::{DeviceError, FLOATS};
pub use network::{Transformer, dropout::Dropout, loader::parameter_id};
pub use network_decoder::{NetworkDecoder, NetworkModel};
