//! The project's chores: `cargo xtask test`, `ci`, `train`, and the measurements.
//!
//! This program runs cargo and `tang`, and links neither of them.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "this is a program, not a library")]

use std::ffi::OsString;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

mod ci;
mod figures;
mod process;
mod shared_build;
mod tang;
mod tidy;
mod transformers;
mod workspace;

/// The project's chores. Paths are relative to the root of the workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run the tests, the examples of the documentation and the example program
    Test,
    /// Run every other check that a change has to pass
    Ci,
    /// Run the checks that need a GPU, or one in software
    CiGpu,
    /// Check what holds the code base together: sizes, layers, manifests, comments, links
    Tidy,
    /// Write the figures of the README again, from the reports in checkpoints
    Readme,
    /// Train a model, then write its report; --gpu builds `tang` for GPUs, which takes half an hour the first
    /// time, and trains on one
    Train(Passed),
    /// Prove the key/value cache exact, then measure it; the last line is JSON
    BenchCache(Passed),
    /// Measure how near decoding comes to the speed of the memory; the last line is JSON
    BenchDecode(Passed),
    /// Measure the speed of training, beside PyTorch where it is installed; the last line is JSON
    BenchTrain(Passed),
}

#[derive(Args)]
struct Passed {
    /// Passed on to the command of `tang` with this name; its --help lists them
    #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
    arguments: Vec<OsString>,
}

fn main() -> Result<()> {
    match Arguments::parse().chore {
        Chore::Test => ci::run(&ci::TEST),
        Chore::Ci => ci::run(&ci::GATE),
        Chore::CiGpu => ci::run(&ci::GPU),
        Chore::Tidy => tidy::run(),
        Chore::Readme => figures::write(),
        Chore::Train(passed) => tang::train(passed.arguments),
        Chore::BenchCache(passed) => tang::measure("bench-cache", None, &passed.arguments),
        Chore::BenchDecode(passed) => {
            tang::measure("bench-decode", Some(("--python", "")), &passed.arguments)
        }
        Chore::BenchTrain(passed) => {
            let peer = ("--peer", " scripts/torch_peer.py");
            tang::measure("bench-train", Some(peer), &passed.arguments)
        }
    }
}
