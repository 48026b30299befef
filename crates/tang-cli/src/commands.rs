//! The commands, one file each.

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};

use crate::{training::bench_train, training::devices, training::train};

mod acrostic;
mod bench_cache;
mod bench_decode;
mod check;
mod continue_from;
mod data;
mod eval;
mod kv_cost;
mod logits;
mod next;
mod report;
mod write;

/// All commands and flags. A word such as -1 is a value, not an unknown flag.
pub fn command_line() -> clap::Command {
    Command::command().mut_subcommands(|command| {
        command.mut_args(|argument| argument.allow_negative_numbers(true))
    })
}

/// Regulated Tang verse from a small GPT: acrostics, continuations, fixed forms
#[derive(Parser)]
#[command(name = "tang", version)]
pub enum Command {
    /// Build the corpus: fetch the poems or read your own, clean and split them
    Data(data::Options),
    /// Train a model
    Train(train::Options),
    /// Write a poem whose lines begin with given characters (藏头诗)
    Acrostic(acrostic::Options),
    /// Go on from the beginning of a poem
    Continue(continue_from::Options),
    /// Write a poem of a fixed form
    Write(write::Options),
    /// Judge poems by rhyme and tones
    Check(check::Options),
    /// Compare a model's probabilities of the next character with the corpus
    Next(next::Options),
    /// Print the logits of every token at every position of a text (see `next` for a readable list)
    Logits(logits::Options),
    /// Count how many of a model's poems keep the rules, free and constrained, beside real poems
    Eval(eval::Options),
    /// Measure a model and write report.md into its folder, in place of an older one
    Report(report::Options),
    /// Measure the key/value cache: results, work, memory, time; prints and writes a report
    BenchCache(bench_cache::Options),
    /// Measure how near decoding comes to the speed of the memory; prints and writes a report
    BenchDecode(bench_decode::Options),
    /// Measure the speed of training, beside another program; prints and writes a report
    BenchTrain(bench_train::Options),
    /// Work out the cost of a key/value cache of any geometry; needs no model
    KvCost(kv_cost::Options),
    /// List the devices: the CPU, and GPUs where the program was built for them
    Devices(devices::Options),
}

impl Command {
    /// Runs the command.
    pub fn run(&self) -> Result<ExitCode> {
        match self {
            Self::Train(options) => return train::run(options),
            Self::Check(options) => return check::run(options),
            Self::Data(options) => data::run(options)?,
            Self::Acrostic(options) => acrostic::run(options)?,
            Self::Continue(options) => continue_from::run(options)?,
            Self::Write(options) => write::run(options)?,
            Self::Next(options) => next::run(options)?,
            Self::Logits(options) => logits::run(options)?,
            Self::Eval(options) => eval::run(options)?,
            Self::Report(options) => report::run(options)?,
            Self::BenchCache(options) => bench_cache::run(options)?,
            Self::BenchDecode(options) => bench_decode::run(options)?,
            Self::BenchTrain(options) => bench_train::run(options)?,
            Self::KvCost(options) => kv_cost::run(options)?,
            Self::Devices(options) => devices::run(options)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
