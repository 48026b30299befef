//! What this project claims about the cache and about a model, measured: exactness first, then
//! times, then samples to read.
//!
//! Nothing is printed; functions give values that display themselves, and say how far they are
//! through a callback.

mod batch_exactness;
mod bench_cache;
mod bytes;
mod cache_paths;
mod dtype;
mod error;
mod exactness;
mod fresh_runs;
mod grouped;
mod kv_cost;
mod kv_cost_markdown;
mod kv_geometry;
mod kv_preset;
mod lab_model;
mod loss_curve;
mod machine;
mod prefix_reuse;
mod report;
mod samples;
mod sampling_lab;
mod spread;
mod step_candidates;
mod test_cases;

pub use batch_exactness::{BatchExactness, batch_exactness};
pub use bench_cache::{BenchCache, LengthTiming, RunsTiming, bench_cache};
pub use bytes::Bytes;
pub use cache_paths::{CachePaths, cache_paths};
pub use dtype::Dtype;
pub use error::LabError;
pub use exactness::{Exactness, exactness};
pub use fresh_runs::{ContextLimit, FreshRuns, fresh_runs};
pub use kv_cost::{CacheCost, KvCost, LengthCost};
pub use kv_geometry::KvGeometry;
pub use kv_preset::KvPreset;
pub use lab_model::LabModel;
pub use loss_curve::{CurvePoint, loss_curve};
pub use machine::Machine;
pub use prefix_reuse::{PrefixReuse, prefix_reuse};
pub use report::report;
pub use sampling_lab::{SamplingLab, SettingSamples, sampling_lab};
pub use spread::Spread;
pub use step_candidates::StepCandidates;
