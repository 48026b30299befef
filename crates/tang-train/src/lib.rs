//! Training: batches of whole poems, a loss that never needs all logits at once, Muon and AdamW,
//! evaluation, and a loop that can be stopped and resumed at any step.
//!
//! ```
//! use tang_checkpoint::ModelConfig;
//! use tang_corpus::Split;
//! use tang_model::device;
//! use tang_train::{Plan, Preset, TrainConfig, TrainError};
//!
//! # fn main() -> Result<(), TrainError> {
//! let poem = |text: &str| text.to_owned();
//! let split = Split {
//!     train: vec![poem("春眠不觉晓"), poem("处处闻啼鸟"), poem("夜来风雨声")],
//!     validation: vec![poem("花落知多少")],
//!     song: Vec::new(),
//! };
//! let config = TrainConfig { steps: 100, batch_tokens: 48, ..Preset::Quick.config() };
//! let model = ModelConfig { layers: 1, context: 24, ..ModelConfig::tang_4l(0) };
//! // Does a few steps in memory, and writes nothing.
//! let plan = Plan::of_start(config, model, split, &device::cpu())?;
//! // Three poems of five characters and a newline are one batch.
//! assert_eq!((plan.steps_per_epoch, plan.tokens_left), (1, 100 * 18));
//! assert_eq!(plan.evaluations_left(), 1);
//! assert!(plan.train_seconds() > 0.0);
//! # Ok(())
//! # }
//! ```

mod config;
mod error;
mod learner;
mod trainer;

pub use config::{Preset, TrainConfig};
pub use error::TrainError;
pub use learner::{
    StepReport,
    evaluation::{Evaluation, evaluate},
    gradients::{PARTS, part_pools},
    head_loss::CHUNK_ROWS,
};
pub use trainer::{
    Observer, Outcome, Trainer,
    plan::{Plan, Trial},
    run_folder::RunFolder,
    run_log::{LogLine, RunLog},
};
