//! `tang devices`: the devices that compute.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use tang_files::escape_value;
use tang_model::device;

use crate::output::{error_message, note};

/// Nothing to choose.
#[derive(Args)]
#[command(after_help = "Example:\n  tang devices")]
pub struct Options {}

/// Prints one device per line, first its name for `--device`; the reason for no GPU goes to stderr.
pub fn run(_: &Options) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "flex  {}", device::name(&device::cpu()))?;
    match device::adapters() {
        Ok((adapters, chosen)) => {
            // If two adapters are alike, the first is marked.
            let taken = adapters.iter().position(|adapter| *adapter == chosen);
            for (place, adapter) in adapters.iter().enumerate() {
                let mark = if Some(place) == taken { " *" } else { "" };
                writeln!(out, "wgpu  {}{mark}", escape_value(&adapter.to_string()))?;
            }
            note("* is what --device wgpu takes");
        }
        Err(error) => note(error_message(&error.into())),
    }
    Ok(())
}
