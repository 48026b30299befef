//! `tang report`: measure a model and write the report beside it.

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::Args;
use tang_files::write_atomically;

use crate::{lab_args::LabArgs, note::note};

/// What to measure.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tang report --checkpoint checkpoints/runs/tang-4l-quick --quick"
)]
pub struct Options {
    #[command(flatten)]
    lab: LabArgs,
}

/// Writes `report.md` into the folder of the model and prints its path.
pub fn run(options: &Options) -> Result<()> {
    let lab = options.lab.open()?;
    let report = tang_lab::report(&lab, options.lab.quick, &mut |text| note(text))?;
    let path = options.lab.checkpoint.checkpoint.join("report.md");
    write_atomically(&path, report.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(io::stdout().lock(), "{}", path.display())?;
    Ok(())
}
