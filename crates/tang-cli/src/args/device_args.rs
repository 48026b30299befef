//! Which device computes.

use anyhow::Result;
use clap::{Args, ValueEnum};
use tang_engine::Threads;

use crate::{output::print::note, system::threads::start_threads, training::gpu::Gpu};

/// Where a model computes.
#[derive(Debug, Clone)]
pub enum Place {
    /// On the CPU, by an engine with these threads.
    Cpu(Threads),
    /// On a GPU, by a network of Burn.
    Gpu(Gpu),
}

impl Place {
    /// The CPU, with all threads.
    pub fn cpu() -> Self {
        Self::Cpu(Threads::available())
    }

    /// Its name for a user.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu(_) => "CPU".to_owned(),
            Self::Gpu(gpu) => gpu.name(),
        }
    }
}

/// Which device to use.
#[derive(Args, Clone, Copy)]
pub struct DeviceArgs {
    /// Device: flex (the CPU), wgpu (a GPU) or auto (a GPU if there is one, else the CPU);
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
    /// The flag again, after a space, for a command line to print; empty for the default.
    pub fn flag(self) -> &'static str {
        match self.device {
            Choice::Flex => "",
            Choice::Wgpu => " --device wgpu",
            Choice::Auto => " --device auto",
        }
    }

    /// Starts the threads and opens the device, once in a program; notes which, unless it is the default.
    pub fn place(self) -> Result<Place> {
        start_threads()?;
        let place = match self.device {
            Choice::Flex => return Ok(Place::cpu()),
            Choice::Wgpu => Place::Gpu(Gpu::open()?),
            Choice::Auto => match Gpu::open() {
                Ok(gpu) => Place::Gpu(gpu),
                Err(error) => {
                    note(error);
                    Place::cpu()
                }
            },
        };
        note(format_args!("device: {}", place.name()));
        Ok(place)
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
