//! `cargo xtask train`: build `tang`, train a model, write its report.

use std::{
    ffi::OsString,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Context, Result};
use signal_hook::{consts::SIGINT, flag};

use crate::process;

/// The exit code that a shell reports for a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Builds `tang` for GPUs, and trains on one.
const GPU: &str = "--gpu";

/// Trains, then measures: `report.md` in the folder of the run holds the timing and correctness
/// suite.
///
/// # Errors
///
/// If a step fails or training is interrupted; `tang` has then said how to go on.
pub fn run(arguments: &[OsString]) -> Result<()> {
    leave_interrupts_to_tang()?;
    let (gpu, mut arguments): (Vec<_>, Vec<_>) = arguments
        .iter()
        .cloned()
        .partition(|argument| argument == GPU);
    let mut features: &[&str] = &[];
    if !gpu.is_empty() {
        features = &["--features", "wgpu"];
        arguments.extend(["--device".into(), "wgpu".into()]);
    }
    let build = ["build", "--release", "--package", "tang-cli"];
    process::run(process::cargo().args(build).args(features))?;
    let train = || {
        let mut train = process::tang_with(features);
        train.arg("train").args(&arguments);
        train
    };
    if arguments.iter().any(|argument| argument == "--dry-run") {
        return process::run(&mut train());
    }
    // A run that came to its end prints its folder, and nothing else.
    let folder = process::output(&mut train())?;
    let report = ["report", "--checkpoint", folder.trim_end()];
    process::run(process::tang_with(features).args(report))
}

/// Ctrl-C reaches every process of the terminal. `tang` saves and stops at the first; waiting for
/// it here keeps its last messages before the shell's prompt. A second ends this program as well.
fn leave_interrupts_to_tang() -> Result<()> {
    let came = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&came))
        .and_then(|_| flag::register(SIGINT, came))
        .map(drop)
        .context("cannot watch for Ctrl-C")
}
