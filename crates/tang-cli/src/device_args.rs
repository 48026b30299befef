//! Which device computes.

use anyhow::Result;
use clap::{Args, ValueEnum};
use tang_engine::Threads;
use tang_model::{
    DeviceError,
    device::{self, Device},
};

use crate::{note::note, threads::start_threads};

/// Where a model computes.
#[derive(Debug, Clone)]
pub enum Place {
    /// On the CPU, by an engine with these threads.
    Cpu(Threads),
    /// On a GPU, by a network on this device.
    Gpu(Device),
}

impl Place {
    /// The place of a device.
    pub fn of(device: &Device) -> Self {
        if device::is_cpu(device) {
            Self::Cpu(Threads::available())
        } else {
            Self::Gpu(device.clone())
        }
    }
}

/// Which device to use.
#[derive(Args, Clone, Copy)]
pub struct DeviceArgs {
    /// What computes: flex (the CPU), wgpu (a GPU) or auto (what wgpu takes, if there is anything);
    /// `tang devices` lists them
    #[arg(
        long,
        value_name = "NAME",
        default_value = "flex",
        hide_possible_values = true
    )]
    device: Choice,
}

#[derive(Clone, Copy, ValueEnum)]
enum Choice {
    Flex,
    Wgpu,
    Auto,
}

impl DeviceArgs {
    /// The flag again, with a space before it, for a command line that goes on; nothing if it is as usual.
    pub fn flag(self) -> &'static str {
        match self.device {
            Choice::Flex => "",
            Choice::Wgpu => " --device wgpu",
            Choice::Auto => " --device auto",
        }
    }

    /// The place where models compute.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn place(self) -> Result<Place> {
        Ok(Place::of(&self.open()?))
    }

    /// The device, with the threads that compute; says which, unless it is the usual one. A program opens
    /// one device.
    ///
    /// # Errors
    ///
    /// If a GPU was asked for and there is none, or no backend for it; those of [`start_threads`].
    pub fn open(self) -> Result<Device> {
        start_threads()?;
        let device = match self.device {
            Choice::Flex => return Ok(device::cpu()),
            Choice::Wgpu => device::gpu()?,
            Choice::Auto => match device::gpu() {
                Ok(device) => device,
                Err(DeviceError::WithoutWgpu) => cpu_because("built without the wgpu backend"),
                Err(DeviceError::NoAdapter { reason }) => cpu_because(&reason),
            },
        };
        note(format_args!("device: {}", device::name(&device)));
        Ok(device)
    }
}

fn cpu_because(reason: &str) -> Device {
    note(format_args!("no GPU: {reason}"));
    device::cpu()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        device: DeviceArgs,
    }

    #[test]
    fn the_flag_is_what_was_given() {
        for given in ["", " --device wgpu", " --device auto"] {
            let command = Command::parse_from(format!("tang{given}").split(' '));
            assert_eq!(command.device.flag(), given);
        }
    }
}
