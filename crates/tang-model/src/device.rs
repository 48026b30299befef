//! Devices that hold tensors. This file alone makes them and asks which backends are compiled in.

use std::fmt;

use burn::backend::DispatchDevice;
pub use burn::tensor::Device;

use crate::DeviceError;

/// The version of Burn, for reports.
pub const BURN_VERSION: &str = "0.22.1";

/// Whether the backend for GPUs is compiled in.
pub const HAS_WGPU: bool = cfg!(feature = "wgpu");

/// The CPU, through Burn's pure-Rust `flex` backend.
pub fn cpu() -> Device {
    Device::flex()
}

/// The same device, whose tensors keep what their gradients need.
#[expect(
    clippy::disallowed_methods,
    reason = "training asks for gradients here, nothing else does"
)]
pub fn with_gradients(device: &Device) -> Device {
    device.clone().autodiff()
}

/// The best adapter of the system, through Burn's `wgpu` backend: a GPU, or else one in software.
///
/// # Errors
///
/// [`DeviceError::WithoutWgpu`] if the backend is not compiled in, [`DeviceError::NoAdapter`] if there
/// is none, or none that works.
pub fn gpu() -> Result<Device, DeviceError> {
    wgpu::open().map(|(device, _)| device)
}

/// The name of a device in reports.
pub fn name(device: &Device) -> String {
    if is_cpu(device) {
        return "CPU, Burn's flex backend".to_owned();
    }
    match wgpu::open() {
        Ok((_, adapter)) => format!("{adapter}, Burn's wgpu backend"),
        Err(_) => "Burn's wgpu backend".to_owned(),
    }
}

/// A GPU, or one in software, that the `wgpu` backend can compute on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// The name that its driver gives.
    pub name: String,
    /// The graphics interface: Vulkan, Metal, DirectX 12 or OpenGL.
    pub interface: String,
    /// Whether it computes on the CPU, which is slow.
    pub is_software: bool,
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.name, self.interface)?;
        f.write_str(if self.is_software { ", software)" } else { ")" })
    }
}

/// All adapters of this machine, each once per interface, and the one that [`gpu`] takes.
///
/// # Errors
///
/// As for [`gpu`]: no backend, or no adapter that works.
pub fn adapters() -> Result<(Vec<Adapter>, Adapter), DeviceError> {
    let (_, chosen) = wgpu::open()?;
    Ok((wgpu::adapters(), chosen))
}

/// Whether a device is the CPU, whose memory the kernels of this workspace read and write.
pub fn is_cpu(device: &Device) -> bool {
    let device = device.clone().inner();
    matches!(device.as_dispatch(), DispatchDevice::Flex(_))
}

#[cfg(feature = "wgpu")]
mod wgpu {
    use std::sync::LazyLock;

    use burn::tensor::{
        Device, read_sync,
        wgpu::{
            WgpuInitError,
            wgpu::{self, AdapterInfo, Backends, DeviceType, Instance, InstanceDescriptor},
        },
    };

    use super::Adapter;
    use crate::DeviceError;

    /// Burn opens an adapter once in a process.
    static OPENED: LazyLock<Result<(Device, Adapter), String>> = LazyLock::new(|| {
        let (device, setup) =
            Device::wgpu_options().init_with_setup().map_err(|error| match error {
                WgpuInitError::AdapterUnavailable { message, .. } => message,
                other => other.to_string(),
            })?;
        Ok((device, Adapter::from(setup.adapter.get_info())))
    });

    pub(super) fn open() -> Result<(Device, Adapter), DeviceError> {
        OPENED.clone().map_err(|reason| DeviceError::NoAdapter { reason })
    }

    pub(super) fn adapters() -> Vec<Adapter> {
        let instance = Instance::new(InstanceDescriptor {
            backends: Backends::all(),
            ..InstanceDescriptor::new_without_display_handle()
        });
        let found = read_sync(instance.enumerate_adapters(Backends::all()));
        found.iter().map(|found| found.get_info().into()).collect()
    }

    impl From<AdapterInfo> for Adapter {
        fn from(info: AdapterInfo) -> Self {
            Self {
                name: info.name,
                interface: match info.backend {
                    wgpu::Backend::Dx12 => "DirectX 12".to_owned(),
                    wgpu::Backend::Gl => "OpenGL".to_owned(),
                    other => format!("{other:?}"),
                },
                is_software: info.device_type == DeviceType::Cpu,
            }
        }
    }
}

#[cfg(not(feature = "wgpu"))]
mod wgpu {
    use burn::tensor::Device;

    use super::Adapter;
    use crate::DeviceError;

    pub(super) fn open() -> Result<(Device, Adapter), DeviceError> {
        Err(DeviceError::WithoutWgpu)
    }

    pub(super) fn adapters() -> Vec<Adapter> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_is_compiled_in() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock = std::fs::read_to_string(path).unwrap();
        let burn = format!("name = \"burn\"\nversion = \"{BURN_VERSION}\"\n");
        assert!(lock.contains(&burn), "Cargo.lock has another version than {BURN_VERSION}");
    }

    #[test]
    fn an_autodiff_device_is_the_one_below_it() {
        assert!(is_cpu(&cpu()));
        assert!(is_cpu(&with_gradients(&cpu())));
    }

    #[test]
    fn a_software_adapter_is_called_that() {
        let adapter = |is_software| Adapter {
            name: "llvmpipe".to_owned(),
            interface: "Vulkan".to_owned(),
            is_software,
        };
        assert_eq!(adapter(true).to_string(), "llvmpipe (Vulkan, software)");
        assert_eq!(adapter(false).to_string(), "llvmpipe (Vulkan)");
    }
}
