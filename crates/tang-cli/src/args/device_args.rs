//! The flag for a device.

use anyhow::Result;
use clap::{Args, ValueEnum};
use tang_engine::Threads;

use crate::{output::note, system::start_threads, training::gpu::Gpu};

/// The device of a model.
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

/// A device.
#[derive(Args, Clone, Copy)]
pub struct DeviceArgs {
    /// Device: flex (the CPU), wgpu (a GPU) or auto (a GPU if there is one, else the CPU);
    /// `tang devices` lists them
    #[arg(long, value_name = "NAME", default_value = "flex", hide_possible_values = true)]
    pub device: Choice,
}

/// A device by its name.
#[derive(Clone, Copy, ValueEnum)]
pub enum Choice {
    Flex,
    Wgpu,
    Auto,
}

impl DeviceArgs {
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
