//! What this project claims about the cache and about a model, measured: exactness first, then
//! times, then samples to read.
//!
//! Nothing is printed; functions give values that display themselves, and say how far they are
//! through a callback.

mod batch_exactness;
mod bench_cache;
mod cache_paths;
mod error;
mod exactness;
mod fresh_runs;
mod lab_model;
mod loss_curve;
mod machine;
mod prefix_reuse;
mod report;
mod samples;
mod spread;
mod test_cases;

pub use batch_exactness::{BatchExactness, batch_exactness};
pub use bench_cache::{BenchCache, LengthTiming, RunsTiming, bench_cache};
pub use cache_paths::{CachePaths, cache_paths};
pub use error::LabError;
pub use exactness::{Exactness, exactness};
pub use fresh_runs::{ContextLimit, FreshRuns, fresh_runs};
pub use lab_model::LabModel;
pub use loss_curve::{CurvePoint, loss_curve};
pub use machine::Machine;
pub use prefix_reuse::{PrefixReuse, prefix_reuse};
pub use report::report;
pub use spread::Spread;
