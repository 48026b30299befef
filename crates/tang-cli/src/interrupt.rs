//! Signals that ask the program to end.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use signal_hook::{consts, flag};

/// What a shell reports for a program that SIGINT ended.
pub const INTERRUPTED: u8 = 130;

/// Ctrl-C, and what asks a program without a terminal to end.
const SIGNALS: &[i32] = &[
    consts::SIGINT,
    consts::SIGTERM,
    #[cfg(unix)]
    consts::SIGHUP,
];

/// Time between two looks whether a signal came.
const INTERVAL: Duration = Duration::from_millis(20);

/// Calls `act`, on a thread of its own, whenever a signal asks the program to end. One that was ignored
/// when the program began stays ignored, as `nohup` and a background job of a script want it; where
/// the system has no `/proc` to ask, all are taken.
///
/// # Errors
///
/// If the system refuses the handler, or a thread.
pub fn on_interrupt(mut act: impl FnMut() + Send + 'static) -> Result<()> {
    let came = Arc::new(AtomicBool::new(false));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored_signals(&status);
    let watch = Arc::clone(&came);
    thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || {
            loop {
                if watch.swap(false, Ordering::Relaxed) {
                    act();
                }
                thread::sleep(INTERVAL);
            }
        })
        .map_err(|error| {
            anyhow!(
                "cannot start a thread to watch for Ctrl-C ({error}): raise the limit of \
                 processes (`ulimit -u`)"
            )
        })?;
    for signal in SIGNALS {
        if ignored >> (signal - 1) & 1 == 0 {
            flag::register(*signal, Arc::clone(&came)).context("cannot watch for Ctrl-C")?;
        }
    }
    Ok(())
}

/// The mask of the ignored signals in a process's status, bit 0 for signal 1; none if it says nothing.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_which_signals_are_ignored() {
        let status =
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\nSigCgt:\t0000000000000440";
        // SIGHUP is 1, SIGINT 2, SIGPIPE 13.
        assert_eq!(ignored_signals(status), 1 << 0 | 1 << 1 | 1 << 12);
        for status in ["", "SigIgn:\tnone", "SigCgt:\t0000000000000440"] {
            assert_eq!(ignored_signals(status), 0, "{status}");
        }
    }
}
