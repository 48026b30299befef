//! The program as users run it: what it prints, how it ends, what it leaves on disk.

#![cfg(test)]

mod acrostic;
mod bench_train;
mod check;
mod checkpoint;
mod continuation;
mod data;
#[cfg(unix)]
mod data_faults;
mod dead_end;
mod devices;
mod escaping;
mod eval;
mod finish;
mod foreign_folders;
mod given;
mod include;
#[cfg(unix)]
mod interrupted_training;
mod kv_cost;
mod lab;
mod likeliest_poems;
mod logits;
#[cfg(target_os = "linux")]
mod memory;
mod model;
mod names;
mod next;
mod padded;
mod pipes;
#[cfg(unix)]
mod printed_commands;
#[cfg(unix)]
mod programs;
mod readme;
mod rules;
mod sampling;
#[cfg(unix)]
mod signals;
mod threads;
mod train;
mod training_plan;
mod usage;
mod work;
