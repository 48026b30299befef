//! What libraries read from the environment, as training needs it.

use std::{env, ffi::OsStr};

/// What mimalloc reads at the start of a process, and its value: milliseconds after which memory that was
/// freed goes back to the system, -1 for never. A training step allocates and frees the same hundreds of
/// megabytes; given back in between, they are cleared page by page when they come again, which is
/// about a quarter of a step's time. Whoever has set it is left alone.
const PURGE_DELAY: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "-1");

/// Where Burn puts the moments of an optimiser that it reads from a file: on the CPU, from where they move
/// to the device that trains at the next step. Left to itself, a build for GPUs looks for one, even for
/// a run that asks for the CPU, and panics if there is none.
const MOMENTS: (&str, &str) = ("BURN_DEVICE", "flex");

/// Gives this process the variables, by starting the program anew in it. Setting them while the program
/// runs would take unsafe code, and be too late for the allocator. Where starting anew is not possible,
/// the program goes on without.
pub fn prepare_environment() {
    let mut wanted = Vec::new();
    if env::var_os(PURGE_DELAY.0).is_none() {
        wanted.push(PURGE_DELAY);
    }
    if env::var_os(MOMENTS.0).as_deref() != Some(OsStr::new(MOMENTS.1)) {
        wanted.push(MOMENTS);
    }
    if !wanted.is_empty() {
        start_anew(wanted);
    }
}

#[cfg(unix)]
fn start_anew(variables: Vec<(&str, &str)>) {
    use std::{os::unix::process::CommandExt, process::Command};

    if let Ok(program) = env::current_exe() {
        let mut anew = Command::new(program);
        anew.args(env::args_os().skip(1)).envs(variables);
        // It returns only if it fails.
        drop(anew.exec());
    }
}

#[cfg(not(unix))]
fn start_anew(_: Vec<(&str, &str)>) {}
