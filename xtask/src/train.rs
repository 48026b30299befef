//! `cargo xtask train`: build `tang`, train a model, write its report.

use std::{
    ffi::OsString,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};

use crate::process;

/// Trains, then measures: `report.md` in the folder of the run holds the timing and correctness
/// suite.
///
/// # Errors
///
/// If a step fails or training is interrupted; `tang` has then said how to go on.
pub fn run(arguments: &[OsString]) -> Result<()> {
    leave_interrupts_to_tang()?;
    process::run(process::cargo().args(["build", "--release", "--package", "tang-cli"]))?;
    if arguments.iter().any(|argument| argument == "--dry-run") {
        return process::run(process::tang().arg("train").args(arguments));
    }
    // A run that came to its end prints its folder, and nothing else.
    let folder = process::output(process::tang().arg("train").args(arguments))?;
    let report = ["report", "--checkpoint", folder.trim_end()];
    process::run(process::tang().args(report))
}

/// Ctrl-C reaches every process of the terminal. `tang` saves and stops at the first; waiting for
/// it here keeps its last messages before the shell's prompt. A second ends this program as well.
fn leave_interrupts_to_tang() -> Result<()> {
    let interrupted = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        if interrupted.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot watch for Ctrl-C")
}
