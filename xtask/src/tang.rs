//! Training and measuring with `tang`.

use std::{
    ffi::OsString,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Result;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

use crate::{process, transformers::PYTHON, workspace};

/// The exit code that a shell reports for a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Builds `tang`, trains, and writes the report into the folder of the run. The flag `--gpu` builds
/// `tang` for GPUs and trains on one.
///
/// # Errors
///
/// If a step fails or training is interrupted; `tang` has then said how to go on.
pub fn train(mut arguments: Vec<OsString>) -> Result<()> {
    leave_interrupts_to_tang()?;
    let count = arguments.len();
    arguments.retain(|argument| argument != "--gpu");
    let mut features: &[&str] = &[];
    if arguments.len() < count {
        features = &["--features", "wgpu"];
        arguments.extend(["--device".into(), "wgpu".into()]);
    }
    // With its output, which `cargo run --quiet` hides.
    let build = ["build", "--release", "--package", "tang-cli"];
    process::run(process::cargo().args(build).args(features))?;
    let mut train = process::tang(features);
    train.arg("train").args(&arguments);
    if arguments.iter().any(|argument| argument == "--dry-run") {
        return process::run(&mut train);
    }
    // A completed run prints the path of its folder and nothing else.
    let folder = process::output(&mut train)?;
    let report = ["report", "--checkpoint", folder.trim_end()];
    process::run(process::tang(features).args(report))
}

/// Ctrl-C reaches every process of the terminal. `tang` saves and stops at the first; waiting for
/// it here keeps its last messages before the shell's prompt. A second ends this program as well.
fn leave_interrupts_to_tang() -> Result<()> {
    let is_second = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&is_second))?;
        flag::register(signal, Arc::clone(&is_second))?;
    }
    Ok(())
}

/// Runs a measurement of `tang`. `peer` is the flag that names a program to compare with, and the rest of
/// that program's command line; unless the arguments have the flag, it is the Python that
/// `cargo xtask ci` installs PyTorch for, where there is one.
///
/// # Errors
///
/// If `tang` fails.
pub fn measure(command: &str, peer: Option<(&str, &str)>, arguments: &[OsString]) -> Result<()> {
    let mut tang = process::tang(&[]);
    tang.arg(command).args(arguments);
    if let Some((flag, rest)) = peer
        && !names(arguments, flag)
        && workspace::root().join(PYTHON).exists()
    {
        tang.arg(flag).arg(format!("{PYTHON}{rest}"));
    }
    process::run(&mut tang)
}

fn names(arguments: &[OsString], flag: &str) -> bool {
    let is_flag = |argument: &str| argument.split('=').next() == Some(flag);
    arguments.iter().any(|it| it.to_str().is_some_and(is_flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_found_in_both_its_forms() {
        for (word, found) in
            [("--peer", true), ("--peer=a b", true), ("--peer-log", false), ("peer", false)]
        {
            assert_eq!(names(&["--steps".into(), word.into()], "--peer"), found, "{word}");
        }
    }
}
