//! Errors of devices.

/// Message of the panic if a tensor has another type than 32-bit floats.
pub const FLOATS: &str = "the network computes in 32-bit floats";

/// A device cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A GPU was asked for, and this program has no backend for one.
    #[error(
        "this program was built without the wgpu backend: build it with `cargo build --release --features wgpu` (half an hour the first time), or compute on the CPU"
    )]
    WithoutWgpu,
    /// A GPU was asked for, and there is none that works.
    #[error(
        "no GPU that works ({reason}): install its driver (on Linux one for Vulkan; mesa-vulkan-drivers has one in software, too), or compute on the CPU"
    )]
    NoAdapter {
        /// The reason, from the graphics library.
        reason: String,
    },
}
