//! What this project claims about the cache and about a model, measured: exactness first, then
//! times, then samples to read.
//!
//! Nothing is printed; functions give values that display themselves, and say how far they are
//! through a callback.

mod bench_cache;
mod cache_paths;
mod error;
mod exactness;
mod lab_model;
mod loss_curve;
mod machine;
mod report;
mod samples;
mod spread;
mod test_cases;

pub use bench_cache::{BenchCache, LengthTiming, RunsTiming, bench_cache};
pub use cache_paths::{CachePaths, cache_paths};
pub use error::LabError;
pub use exactness::{Exactness, exactness};
pub use lab_model::LabModel;
pub use loss_curve::{CurvePoint, loss_curve};
pub use machine::Machine;
pub use report::report;
pub use spread::Spread;
