//! Where tensors live. The only file that names a backend.

use burn::tensor::Device;

/// The CPU, through Burn's pure-Rust `flex` backend.
pub fn cpu() -> Device {
    Device::flex()
}
