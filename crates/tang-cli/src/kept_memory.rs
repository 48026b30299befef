//! An allocator that keeps what it has.

use std::env;

/// What mimalloc reads at the start of a process: milliseconds after which memory that was freed
/// goes back to the system, -1 for never.
const PURGE_DELAY: &str = "MIMALLOC_PURGE_DELAY";

/// Makes the allocator keep memory that is freed, by starting this program anew in the same process
/// with [`PURGE_DELAY`] in its environment; whoever has set that is left alone.
///
/// A training step allocates and frees the same hundreds of megabytes. Given back in between, they
/// are cleared page by page when they come again: about a quarter of a step's time. Setting the
/// option while the program runs would take unsafe code. Where starting anew is not possible,
/// training is slower, no more.
pub fn keep_memory() {
    if env::var_os(PURGE_DELAY).is_none() {
        start_anew();
    }
}

#[cfg(unix)]
fn start_anew() {
    use std::{os::unix::process::CommandExt, process::Command};

    if let Ok(program) = env::current_exe() {
        let mut anew = Command::new(program);
        anew.args(env::args_os().skip(1)).env(PURGE_DELAY, "-1");
        // It returns only if it fails.
        drop(anew.exec());
    }
}

#[cfg(not(unix))]
fn start_anew() {}
