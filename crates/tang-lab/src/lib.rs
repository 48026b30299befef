//! The laboratory: it measures what this project claims about the key/value cache, decoding, training and
//! verse. Exactness comes first, then counts and sizes, then times.
//!
//! Nothing is printed; functions give values that display themselves as Markdown, and report their progress
//! through a callback. Only the module `train` needs Burn, and the feature `train`.
//!
//! ```
//! use tang_checkpoint::ModelConfig;
//! use tang_lab::{Bytes, KvCost, KvGeometry, LabError};
//!
//! // 4 layers with 4 key/value heads of width 32, in 32-bit floats.
//! let geometry = KvGeometry::from(&ModelConfig::tang_4l(6289));
//! assert_eq!(geometry.bytes_per_token()?, Bytes(2 * 4 * 4 * 32 * 4));
//! let cost = KvCost::of(geometry, 128, Some("1 GiB".parse()?))?;
//! assert!(cost.to_string().contains("| cache of n tokens | 512 KiB |"));
//! # Ok::<(), LabError>(())
//! ```

mod cache;
mod decode;
mod error;
mod kv;
mod page;
mod stats;
mod subject;
#[cfg(feature = "train")]
mod train;
mod verse;

pub use cache::{BenchCache, BenchPlan, bench_cache, check_report, report};
pub use decode::{BenchDecode, DecodePlan, DecodeSubject, bench_decode, programs::TorchScript};
pub use error::LabError;
pub use kv::{
    KvCost,
    geometry::KvGeometry,
    preset::{Dtype, KvPreset},
};
pub use page::{
    Bytes, Report, ReportFolder,
    chart::{CurvePoint, loss_curve},
};
pub use subject::{Commit, LabModel, ModelSummary, Provenance, peak_memory};
#[cfg(feature = "train")]
pub use train::{BenchTrain, LossPoint, Peer, TrainPlan, bench_train, loss_points};
pub use verse::{Eval, EvalOptions, eval};
