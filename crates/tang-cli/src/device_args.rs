//! Which device computes.

use anyhow::Result;
use clap::{Args, ValueEnum};
use tang_model::{
    ModelError,
    device::{self, Device},
};

use crate::{note::note, threads::start_threads};

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
                Err(ModelError::WithoutWgpu) => cpu_because("built without the wgpu backend"),
                Err(ModelError::NoAdapter { reason }) => cpu_because(&reason),
                Err(error) => return Err(error.into()),
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
