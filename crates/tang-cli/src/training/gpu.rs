//! A GPU, through Burn.

use std::sync::Arc;

use anyhow::Result;
use tang_checkpoint::ModelFolder;
use tang_engine::Model;
use tang_model::{
    DeviceError, NetworkModel, Transformer,
    device::{self, Device},
};

/// A GPU that computes.
#[derive(Debug, Clone)]
pub struct Gpu(Device);

impl Gpu {
    /// Opens the adapter that the system prefers.
    pub fn open() -> Result<Self, DeviceError> {
        device::gpu().map(Self)
    }

    /// The device of Burn.
    pub fn into_device(self) -> Device {
        self.0
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
