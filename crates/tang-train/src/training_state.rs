//! Everything a run needs to go on, in one file.

use std::path::Path;

use burn::{optim::OptimizerRecord, tensor::Bytes};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use tang_files::{read_bounded, write_atomically};
use tang_model::{ModelConfig, Weights};

use crate::{TrainConfig, TrainError};

/// The weights' entry: a safetensors file of its own.
const WEIGHTS: &str = "weights";
/// The optimiser's entry: its moments as Burn writes them, keyed by parameter identity.
const OPTIMIZER: &str = "optimizer";
/// Key of the progress in the metadata.
const PROGRESS: &str = "progress";

/// The small part of a training state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// What the run was told.
    pub train: TrainConfig,
    /// The model's geometry.
    pub model: ModelConfig,
    /// SHA-256 of the poems, training and validation.
    pub corpus: String,
    /// Steps done. Seed and step give the next batch, so this is the state of the generator too.
    pub step: usize,
    /// Seconds spent on steps.
    pub train_seconds: f64,
    /// Characters trained on.
    pub tokens: u64,
    /// Lowest validation loss so far.
    pub best_nats_per_char: Option<f64>,
}

/// Weights, moments and progress of a run after some step.
///
/// One file, replaced by rename: several files could not be replaced together, and a killed run
/// would leave moments of one step beside weights of another.
pub(crate) struct TrainingState {
    pub progress: Progress,
    pub weights: Weights,
    pub optimizer: OptimizerRecord,
}

impl TrainingState {
    pub(crate) fn write(self, path: &Path) -> Result<(), TrainError> {
        let weights = self.weights.to_bytes();
        let optimizer = self
            .optimizer
            .into_bytes()
            .map_err(|e| TrainError::damaged(path, e))?;
        let progress =
            serde_json::to_string(&self.progress).expect("progress has only numbers and text");
        let blob = |bytes| {
            TensorView::new(Dtype::U8, vec![<[u8]>::len(bytes)], bytes)
                .expect("as many bytes as the shape says")
        };
        let entries = [(WEIGHTS, blob(&weights)), (OPTIMIZER, blob(&optimizer))];
        let metadata = [(PROGRESS.to_owned(), progress)].into();
        let file = safetensors::serialize(entries, Some(metadata))
            .map_err(|e| TrainError::damaged(path, e))?;
        write_atomically(path, &file).map_err(TrainError::io(path))
    }

    pub(crate) fn read(path: &Path) -> Result<Self, TrainError> {
        let bytes = read_bounded(path).map_err(TrainError::io(path))?;
        let damaged = |reason: String| {
            TrainError::damaged(
                path,
                format!("not a readable training state ({reason}): start a new run"),
            )
        };
        let (_, metadata) =
            SafeTensors::read_metadata(&bytes).map_err(|e| damaged(e.to_string()))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|e| damaged(e.to_string()))?;
        let entry = |name| file.tensor(name).map_err(|e| damaged(e.to_string()));
        let progress = metadata
            .metadata()
            .as_ref()
            .and_then(|metadata| metadata.get(PROGRESS))
            .ok_or_else(|| damaged(format!("no `{PROGRESS}`")))?;
        let optimizer = Bytes::from_bytes_vec(entry(OPTIMIZER)?.data().to_vec());
        let progress: Progress =
            serde_json::from_str(progress).map_err(|e| damaged(e.to_string()))?;
        if progress.step > progress.train.steps {
            let Progress { step, train, .. } = progress;
            return Err(damaged(format!("{step} of {} steps are done", train.steps)));
        }
        Ok(Self {
            progress,
            weights: Weights::from_bytes(entry(WEIGHTS)?.data(), path)
                .map_err(|e| damaged(e.to_string()))?,
            optimizer: OptimizerRecord::from_bytes(optimizer)
                .map_err(|e| damaged(e.to_string()))?,
        })
    }
}
