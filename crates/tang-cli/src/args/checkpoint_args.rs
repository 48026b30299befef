//! The flags for a model.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::{args::DeviceArgs, model::LoadedModel};

/// A model, and the device that computes it.
#[derive(Args)]
pub struct CheckpointArgs {
    /// Folder of the model [default: tang-4l, which is part of this program]
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceArgs,
}

impl CheckpointArgs {
    /// Opens the model.
    pub fn open(&self) -> Result<LoadedModel> {
        LoadedModel::open(self.checkpoint.as_deref(), &self.device.place()?)
    }
}
