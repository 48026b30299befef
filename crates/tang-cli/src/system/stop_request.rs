//! A request to stop: Ctrl-C, or a signal that asks a program to end.

use std::{
    fs,
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use signal_hook::{consts, flag};

use crate::output::note;

/// The exit code that a shell reports for a program that SIGINT ended.
pub const INTERRUPTED: u8 = 130;

/// Ctrl-C, and the signals to a program without a terminal.
const SIGNALS: &[i32] = &[
    consts::SIGINT,
    consts::SIGTERM,
    #[cfg(unix)]
    consts::SIGHUP,
];

/// Time between two checks for a signal.
const INTERVAL: Duration = Duration::from_millis(20);

/// A request ends the program at once.
const END: u8 = 0;
/// Requests are kept for later.
const HOLD: u8 = 1;
/// The first request is kept, a second ends the program.
const HOLD_ONE: u8 = 2;

/// A watch for requests. Their effect depends on the current work.
#[derive(Clone, Default)]
pub struct StopRequest {
    came: Arc<AtomicBool>,
    mode: Arc<AtomicU8>,
}

impl StopRequest {
    /// Watches on a thread of its own; each request ends the program at once. Called once in a program.
    ///
    /// A signal that was ignored when the program began stays ignored, as `nohup` and a background job of a
    /// script want it; where the system has no `/proc` to ask, all are taken.
    pub fn watch() -> Result<Self> {
        let request = Self::default();
        let signalled = Arc::new(AtomicBool::new(false));
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored_signals(&status);
        let (watch, watched) = (Arc::clone(&signalled), request.clone());
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || {
                loop {
                    if watch.swap(false, Ordering::Relaxed) {
                        watched.receive();
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
                flag::register(*signal, Arc::clone(&signalled))
                    .context("cannot watch for Ctrl-C")?;
            }
        }
        Ok(request)
    }

    /// A flag that is set once a request came.
    pub fn came(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.came)
    }

    /// Keeps requests from here on, for work that must be completed. With `ends`, only the first is
    /// kept, with a note, and a second one ends the program.
    pub fn hold(&self, ends: bool) {
        let mode = if ends { HOLD_ONE } else { HOLD };
        self.mode.store(mode, Ordering::Relaxed);
    }

    /// Lets requests end the program again, and ends it if one was kept.
    pub fn release(&self) {
        self.mode.store(END, Ordering::Relaxed);
        if self.came.load(Ordering::Relaxed) {
            exit(INTERRUPTED.into());
        }
    }

    fn receive(&self) {
        let came_before = self.came.swap(true, Ordering::Relaxed);
        match self.mode.load(Ordering::Relaxed) {
            HOLD => {}
            HOLD_ONE if !came_before => {
                note("stopping after this step; interrupt again to lose what is not saved");
            }
            _ => exit(INTERRUPTED.into()),
        }
    }
}

/// The mask of the ignored signals in a process's status, bit 0 for signal 1; none if it says nothing.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
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
