//! The program as users run it: what it prints, how it ends, what it leaves on disk.

mod acrostic;
mod bench_train;
mod check;
mod checkpoint;
mod continuation;
mod data;
mod devices;
mod eval;
#[cfg(unix)]
mod interrupted_training;
mod kv_cost;
mod lab;
mod likeliest_poems;
mod logits;
mod model;
mod next;
mod readme;
mod rules;
mod sampling;
mod train;
mod training_plan;
mod usage;
mod work;
