//! `tang bench-cache`: time generation with the key/value cache and without.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;

use crate::{lab_args::LabArgs, note::note};

/// What to time.
#[derive(Args)]
#[command(after_help = "Example:\n  tang bench-cache --quick")]
pub struct Options {
    #[command(flatten)]
    lab: LabArgs,
}

/// Prints the times as a table, then as one line of JSON.
pub fn run(options: &Options) -> Result<()> {
    let lab = options.lab.open()?;
    let bench = tang_lab::bench_cache(&lab, options.lab.quick, &mut |text| note(text))?;
    let json = serde_json::to_string(&bench)?;
    writeln!(io::stdout().lock(), "{bench}\n\n{json}")?;
    Ok(())
}
