//! Training: batches of whole poems, a loss that never holds all logits, Muon and AdamW, evaluation, and a
//! loop that can be stopped and resumed at any step.

mod batches;
mod config;
mod error;
mod evaluation;
mod gradients;
mod head_loss;
mod learner;
mod mean;
mod moments;
mod optimizer;
mod plan;
mod run_folder;
mod run_log;
mod schedule;
mod trainer;
mod training_state;

pub use config::{Preset, TrainConfig};
pub use error::TrainError;
pub use evaluation::{Evaluation, evaluate};
pub use gradients::{PARTS, part_pools};
pub use head_loss::CHUNK_ROWS;
pub use plan::{Plan, Trial};
pub use run_folder::RunFolder;
pub use run_log::{LogLine, RunLog};
pub use trainer::{Observer, Outcome, StepReport, Trainer};
