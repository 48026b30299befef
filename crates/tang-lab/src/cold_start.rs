//! What one whole run of a program takes.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{Bytes, LabError, Spread, peak_memory};

/// How often a running program is asked for its memory.
const INTERVAL: Duration = Duration::from_micros(500);

/// A program from its start to its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColdStart {
    /// From start to end, result and all.
    pub time: Spread,
    /// The most memory that it had resident, as far as the system says; a little may come after the
    /// last look.
    pub peak_bytes: Option<Bytes>,
}

/// Runs the program that `command` makes `runs` times for its time, and a few times more for its
/// memory.
///
/// # Errors
///
/// [`LabError::Program`] if it does not start, or fails.
pub(crate) fn cold_start(
    command: impl Fn() -> Command,
    runs: usize,
) -> Result<ColdStart, LabError> {
    let times = (0..=runs)
        .map(|_| {
            let started = Instant::now();
            wait(&mut start(&mut command())?)?;
            Ok(started.elapsed().as_secs_f64() * 1e3)
        })
        .collect::<Result<Vec<_>, LabError>>()?;
    let mut peak_bytes = None;
    // Apart from the times, since asking takes a share of the processor.
    for _ in 0..3 {
        let mut child = start(&mut command())?;
        while matches!(child.try_wait(), Ok(None)) {
            peak_bytes = peak_bytes.max(peak_memory(child.id()));
            thread::sleep(INTERVAL);
        }
        wait(&mut child)?;
    }
    Ok(ColdStart {
        // The first run reads the files from the disk.
        time: Spread::of(times[1..].to_vec()),
        peak_bytes,
    })
}

fn start(command: &mut Command) -> Result<Child, LabError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(&error))
}

fn wait(child: &mut Child) -> Result<(), LabError> {
    let status = child.wait().map_err(|error| failed(&error))?;
    match status.success() {
        true => Ok(()),
        false => Err(failed(&status)),
    }
}

fn failed(reason: &dyn std::fmt::Display) -> LabError {
    LabError::Program {
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_a_time_and_perhaps_a_memory() {
        let program = std::env::current_exe().unwrap();
        let listed = || {
            let mut command = Command::new(&program);
            command.arg("--list");
            command
        };
        let start = cold_start(listed, 3).unwrap();
        assert!(start.time.min_ms > 0.0);
        assert!(start.peak_bytes.is_none_or(|bytes| bytes > Bytes(1 << 16)));
    }

    #[test]
    fn a_program_that_fails_or_is_missing_is_an_error() {
        let program = std::env::current_exe().unwrap();
        let wrong = || {
            let mut command = Command::new(&program);
            command.arg("--no-such-flag");
            command
        };
        let message = cold_start(wrong, 1).unwrap_err().to_string();
        assert!(message.contains("exit status"), "{message}");
        assert!(cold_start(|| Command::new("no-such-program"), 1).is_err());
    }
}
