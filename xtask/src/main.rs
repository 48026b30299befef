//! The project's chores: `cargo xtask train`, `bench-cache`, `ci` and `tidy`.
//!
//! This program runs cargo and `tang`, and links neither of them.

use std::ffi::OsString;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod bench_cache;
mod ci;
mod hf_check;
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
    Train(train::Options),
    /// Time generation with and without a cache; the last line is JSON
    BenchCache {
        /// Passed on to `tang bench-cache`
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<OsString>,
    },
    /// Run every check that a change has to pass
    Ci,
    /// Check what holds the code base together: sizes, layers, manifests, links
    Tidy,
}

fn main() -> Result<()> {
    match Arguments::parse().chore {
        Chore::Train(options) => train::run(&options),
        Chore::BenchCache { arguments } => bench_cache::run(&arguments),
        Chore::Ci => ci::run(),
        Chore::Tidy => tidy::run(),
    }
}
