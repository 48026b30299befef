//! The state from which a run goes on, in one file.

use std::{fmt::Display, path::Path};

use burn::optim::OptimizerRecord;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use tang_checkpoint::{ModelConfig, Weights};
use tang_files::{read_bounded, sha256_hex, write_atomically};

use super::moments::read_moments;
use crate::{TrainConfig, TrainError};

/// Name of the weights: a safetensors file of its own.
const WEIGHTS: &str = "weights";
/// Name of the moments of the optimiser as Burn writes them, keyed by parameter identity.
const OPTIMIZER: &str = "optimizer";
/// Name of the SHA-256 over progress, weights and optimiser; the oldest states have none.
const CHECKSUM: &str = "sha256";
/// Key of the progress in the metadata.
const PROGRESS: &str = "progress";

/// The small part of a training state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Configuration of the run.
    pub train: TrainConfig,
    /// Geometry of the model.
    pub model: ModelConfig,
    /// SHA-256 of the training and validation poems, and of the Song poems if the run learns from them.
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

impl Progress {
    /// Checks that a run can have come this far.
    ///
    /// # Errors
    ///
    /// The reason, with the numbers.
    fn validate(&self) -> Result<(), String> {
        self.train.validate().map_err(|e| e.to_string())?;
        self.model.validate().map_err(|e| e.to_string())?;
        let Self { step, tokens, .. } = *self;
        // A batch has at least one row, even one longer than `batch_tokens`.
        let most = self.train.batch_tokens.max(self.model.context) as u128;
        let possible = step as u128..=step as u128 * most;
        if step > self.train.steps {
            Err(format!("{step} of {} steps are done", self.train.steps))
        } else if !possible.contains(&u128::from(tokens)) {
            Err(format!("{step} steps of at most {most} characters cannot have seen {tokens}"))
        } else if self.train_seconds < 0.0 {
            Err(format!("{step} steps took {} seconds", self.train_seconds))
        } else {
            Ok(())
        }
    }
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
        let optimizer = self.optimizer.into_bytes();
        let optimizer = optimizer.map_err(|e| TrainError::damaged(path, e))?;
        let progress =
            serde_json::to_string(&self.progress).expect("progress has only numbers and text");
        let checksum = checksum(&progress, &weights, &optimizer);
        let entries =
            [(WEIGHTS, &weights[..]), (OPTIMIZER, &optimizer[..]), (CHECKSUM, checksum.as_bytes())];
        let entries = entries.map(|(name, bytes)| {
            let view = TensorView::new(Dtype::U8, vec![bytes.len()], bytes);
            (name, view.expect("as many bytes as the shape says"))
        });
        let metadata = [(PROGRESS.to_owned(), progress)].into();
        let file = safetensors::serialize(entries, Some(metadata))
            .map_err(|e| TrainError::damaged(path, e))?;
        write_atomically(path, &file).map_err(TrainError::io(path))
    }

    /// Reads a state whose parts fit together. `check` looks at the progress before the rest is read.
    ///
    /// # Errors
    ///
    /// [`TrainError::Io`] if the file cannot be read, [`TrainError::Damaged`] if it is not as it was
    /// written, or describes no run; the error of `check`.
    pub(crate) fn read(
        path: &Path,
        check: impl FnOnce(&Progress) -> Result<(), TrainError>,
    ) -> Result<Self, TrainError> {
        let bytes = read_bounded(path).map_err(TrainError::io(path))?;
        let damaged = |reason: &dyn Display| TrainError::damaged_state(path, reason);
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| damaged(&e))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|e| damaged(&e))?;
        let entry = |name| file.tensor(name).map_err(|e| damaged(&e));
        let progress = header.metadata().as_ref().and_then(|entries| entries.get(PROGRESS));
        let progress = progress.ok_or_else(|| damaged(&format!("no `{PROGRESS}`")))?;
        let (weights, optimizer) = (entry(WEIGHTS)?, entry(OPTIMIZER)?);
        let checksum = checksum(progress, weights.data(), optimizer.data());
        let progress: Progress = serde_json::from_str(progress).map_err(|e| damaged(&e))?;
        progress.validate().map_err(|reason| damaged(&reason))?;
        check(&progress)?;
        let weights = Weights::from_bytes(weights.data(), path).map_err(|e| damaged(&e))?;
        let optimizer = read_moments(optimizer.data(), &progress.model, progress.step)
            .map_err(|reason| damaged(&format!("the moments of the optimiser: {reason}")))?;
        // The checksum is compared last, since the other errors are more precise.
        if let Ok(written) = file.tensor(CHECKSUM)
            && written.data() != checksum.as_bytes()
        {
            return Err(damaged(&"its checksum is another: a byte has changed"));
        }
        Ok(Self { progress, weights, optimizer })
    }
}

/// SHA-256 over the SHA-256 of each part.
fn checksum(progress: &str, weights: &[u8], optimizer: &[u8]) -> String {
    let parts = [progress.as_bytes(), weights, optimizer];
    sha256_hex(parts.map(sha256_hex).concat())
}
