//! `tang report`: measure a model and write the report beside it.

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::Args;
use tang_files::{escape_lines, write_atomically};
use tang_lab::check_report;

use crate::{args::CheckpointArgs, model::open_lab_model, output::print_path};

/// The model to measure.
#[derive(Args)]
#[command(
    // The report is written into the folder.
    mut_arg("checkpoint", |folder| folder.required(true).help("Folder of the model")),
    after_help = "Example:\n  tang report --checkpoint checkpoints/runs/tang-4l-quick --quick"
)]
pub struct Options {
    #[command(flatten)]
    checkpoint: CheckpointArgs,
    /// Compare fewer poems with and without the cache, and time shorter texts
    #[arg(long)]
    quick: bool,
}

/// Writes `report.md` into the folder of the model and prints its path.
pub fn run(options: &Options) -> Result<()> {
    let lab = open_lab_model(&options.checkpoint)?;
    let folder = options.checkpoint.checkpoint.as_deref();
    let path = folder.context("no --checkpoint")?.join("report.md");
    check_report(&path)?;
    let report = tang_lab::report(&lab, options.quick)?;
    let report = escape_lines(&report);
    let written = write_atomically(&path, report.as_bytes());
    if written.is_err() {
        // The measurement took minutes: if the report cannot be written, it is at least printed.
        writeln!(io::stdout().lock(), "{report}")?;
    }
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(print_path(&path)?)
}
