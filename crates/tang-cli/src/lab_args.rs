//! The flags of the commands that measure a model.

use anyhow::Result;
use clap::Args;
use tang_lab::LabModel;

use crate::loaded_model::{CheckpointArgs, LoadedModel};

/// Which model to measure, and how thoroughly.
#[derive(Args)]
pub struct LabArgs {
    #[command(flatten)]
    pub checkpoint: CheckpointArgs,
    /// Compare fewer poems with and without the cache
    #[arg(long)]
    pub quick: bool,
}

impl LabArgs {
    /// Opens the model, named after its folder.
    ///
    /// # Errors
    ///
    /// Those of [`CheckpointArgs::open`].
    pub fn open(&self) -> Result<LabModel> {
        let LoadedModel { model, vocabulary } = self.checkpoint.open()?;
        Ok(LabModel {
            model,
            vocabulary,
            name: self.checkpoint.checkpoint.display().to_string(),
        })
    }
}
