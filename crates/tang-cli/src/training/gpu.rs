//! A GPU, through Burn.

use std::sync::Arc;

use anyhow::Result;
use tang_checkpoint::ModelFolder;
use tang_engine::Model;
use tang_model::{
    DeviceError, NetworkModel, Transformer,
    device::{self, Device},
};

use crate::args::{DeviceArgs, Place, device_args::Choice};

/// A GPU that computes.
#[derive(Debug, Clone)]
pub struct Gpu(Device);

impl Gpu {
    /// The adapter that the system thinks best.
    pub fn open() -> Result<Self, DeviceError> {
        device::gpu().map(Self)
    }

    /// Its name for a user.
    pub fn name(&self) -> String {
        device::name(&self.0)
    }

    /// A model that decodes on it.
    pub fn model(&self, folder: ModelFolder) -> Result<Box<dyn Model>> {
        let network = Arc::new(Transformer::from_folder(folder, &self.0)?);
        Ok(Box::new(NetworkModel(network)))
    }
}

impl DeviceArgs {
    /// The flag again, after a space, for a command line to print; empty for the default.
    pub fn flag(self) -> &'static str {
        match self.device {
            Choice::Flex => "",
            Choice::Wgpu => " --device wgpu",
            Choice::Auto => " --device auto",
        }
    }

    /// The device as Burn has it.
    pub fn open(self) -> Result<Device> {
        Ok(match self.place()? {
            Place::Cpu(_) => device::cpu(),
            Place::Gpu(gpu) => gpu.0,
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
