//! The flag for a device, to train on it.

use anyhow::Result;
use tang_model::device::{self, Device};

use crate::args::{DeviceArgs, Place, device_args::Choice};

impl DeviceArgs {
    /// The flag again, after a space, for a command line to print; empty for the default.
    pub fn flag(self) -> &'static str {
        match self.device {
            Choice::Flex => "",
            Choice::Wgpu => " --device wgpu",
            Choice::Auto => " --device auto",
        }
    }

    /// The device of Burn.
    pub fn open(self) -> Result<Device> {
        Ok(match self.place()? {
            Place::Cpu(_) => device::cpu(),
            Place::Gpu(gpu) => gpu.into_device(),
        })
    }
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
