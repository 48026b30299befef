//! Publishing a measurement in a folder and on stdout.

use std::{
    fmt::Display,
    io::{self, Write},
};

use anyhow::Result;
use serde::Serialize;
use tang_files::escape_lines;
use tang_lab::{Report, ReportFolder};

use super::{note, write_json};

/// Writes a measurement into its folder and prints it, as Markdown and then as one line of JSON.
///
/// # Errors
///
/// If a file cannot be written. The measurement is printed all the same.
pub fn publish(folder: &ReportFolder, report: &impl Report) -> Result<()> {
    let written = folder.write(report);
    if let Ok(page) = &written {
        note(format_args!("written to {}", page.display()));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}\n", escape_lines(&report.to_string()))?;
    write_json(&mut out, report)?;
    written?;
    Ok(())
}

/// Prints a measurement as one line of JSON, or else as Markdown.
///
/// # Errors
///
/// Those of stdout.
pub fn print(value: &(impl Display + Serialize), json: bool) -> Result<()> {
    let mut out = io::stdout().lock();
    if json {
        write_json(&mut out, value)?;
    } else {
        writeln!(out, "{}", escape_lines(&value.to_string()))?;
    }
    Ok(())
}
