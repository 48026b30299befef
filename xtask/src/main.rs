//! The project's chores: `cargo xtask train`, what measures, and what checks.
//!
//! This program runs cargo and `tang`, and links neither of them.

use std::ffi::OsString;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod ci;
mod hf_check;
mod peers;
mod process;
mod shared_build;
mod tidy;
mod train;
mod workspace;

/// The project's chores. Paths count from the root of the workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Train a model, then write its report
    Train {
        /// Passed on to `tang train`, whose --help lists them; --gpu builds it for GPUs, which takes half
        /// an hour the first time, and trains on one
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<OsString>,
    },
    /// Measure what the key/value cache does; the last line is JSON
    BenchCache {
        /// Passed on to `tang bench-cache`
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<OsString>,
    },
    /// Measure how near decoding comes to the speed of the memory; the last line is JSON
    BenchDecode {
        /// Passed on to `tang bench-decode`
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<OsString>,
    },
    /// Measure the speed of training, beside a peer; the last line is JSON
    BenchTrain {
        /// Passed on to `tang bench-train`, whose --help lists them
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<OsString>,
    },
    /// Run every check that a change has to pass
    Ci,
    /// Run the checks that need a GPU, or one in software
    CiGpu,
    /// Check what holds the code base together: sizes, layers, manifests, links
    Tidy,
}

fn main() -> Result<()> {
    match Arguments::parse().chore {
        Chore::Train { arguments } => train::run(&arguments),
        Chore::BenchCache { arguments } => {
            process::run(process::tang().arg("bench-cache").args(arguments))
        }
        Chore::BenchDecode { arguments } => {
            peers::measure("bench-decode", "--python", None, &arguments)
        }
        Chore::BenchTrain { arguments } => {
            let script = "scripts/torch_peer.py";
            peers::measure("bench-train", "--peer", Some(script), &arguments)
        }
        Chore::Ci => ci::run(),
        Chore::CiGpu => ci::run_gpu(),
        Chore::Tidy => tidy::run(),
    }
}
