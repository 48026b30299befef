//! What this project claims about the cache and about a model, measured: exactness first, then
//! counts and sizes, then times, then samples to read.
//!
//! Nothing is printed; functions give values that display themselves, and say how far they are
//! through a callback.

mod average;
mod batch_exactness;
mod bench_cache;
mod bench_decode;
mod bench_page;
mod bench_plan;
mod bench_plots;
#[cfg(feature = "train")]
mod bench_train;
mod bytes;
mod cache_bytes;
mod cache_paths;
mod cold_start;
mod counting;
mod decode_timing;
mod distinct;
mod dtype;
mod error;
mod eval;
mod eval_row;
mod eval_tables;
mod exactness;
#[cfg(test)]
mod fake_decoder;
mod fresh_runs;
mod growth;
mod held_out;
mod kv_cost;
mod kv_cost_markdown;
mod kv_geometry;
mod kv_preset;
mod lab_model;
mod length_timing;
mod line_chart;
mod logit_gap;
mod loss_curve;
mod machine;
#[cfg(feature = "train")]
mod matmul_peak;
mod model_summary;
mod peak_memory;
mod poem_set;
mod poem_writer;
mod position_loss;
mod prefill_timing;
mod prefix_reuse;
mod provenance;
#[cfg(feature = "train")]
mod race;
mod random_heads;
mod report;
mod samples;
mod sampling_lab;
mod spread;
mod step_candidates;
mod subject;
mod table;
mod test_cases;
mod timed_generation;
mod timing;
mod torch_peer;
#[cfg(feature = "train")]
mod utilization;
mod weight_floor;

pub use batch_exactness::{BatchExactness, batch_exactness};
pub use bench_cache::{BenchCache, ModelBench, bench_cache};
pub use bench_decode::{BenchDecode, DecodePlan, DecodeSubject, ModelDecode, bench_decode};
pub use bench_plan::BenchPlan;
#[cfg(feature = "train")]
pub use bench_train::{BenchTrain, Throughput};
pub use bytes::Bytes;
pub use cache_bytes::{CacheBytes, CacheSize, HeadSharing};
pub use cache_paths::{CachePaths, cache_paths};
pub use cold_start::ColdStart;
pub use counting::{Counting, TokenCount, counting};
pub use decode_timing::{BatchTiming, DecodeTiming, ThreadTiming};
pub use distinct::Distinct;
pub use dtype::Dtype;
pub use error::LabError;
pub use eval::{Eval, EvalOptions, eval};
pub use eval_row::EvalRow;
pub use exactness::{Exactness, exactness};
pub use fresh_runs::{ContextLimit, FreshRuns, fresh_runs};
pub use growth::{Growth, PowerLaw};
pub use kv_cost::{CacheCost, KvCost, LengthCost};
pub use kv_geometry::KvGeometry;
pub use kv_preset::KvPreset;
pub use lab_model::LabModel;
pub use length_timing::{LengthSeries, LengthTiming, RunsTiming, SeriesGrowth};
pub use loss_curve::{CurvePoint, loss_curve};
pub use machine::Machine;
#[cfg(feature = "train")]
pub use matmul_peak::{MatmulPeak, ProductSpeed};
pub use model_summary::ModelSummary;
pub use peak_memory::peak_memory;
pub use position_loss::{PartLoss, PositionLoss};
pub use prefill_timing::PrefillTiming;
pub use prefix_reuse::{PrefixReuse, prefix_reuse};
pub use provenance::{Commit, Provenance};
#[cfg(feature = "train")]
pub use race::{LossPoint, Race};
pub use report::{REPORT_SECTION, report};
pub use sampling_lab::{SamplingLab, SettingSamples};
pub use spread::Spread;
pub use step_candidates::StepCandidates;
pub use subject::Subject;
pub use timing::{Timing, timing};
pub use torch_peer::{TorchPeer, TorchScript};
#[cfg(feature = "train")]
pub use utilization::Utilization;
