//! The environment variables of libraries, as training needs them.

use std::env;

/// A variable of mimalloc: milliseconds after which freed memory goes back to the system, -1 for
/// never. A training step allocates and frees the same hundreds of megabytes; if they went back to
/// the system, it would clear them page by page at the next allocation, which takes about a quarter
/// of a step. A value that the user has set is kept.
const PURGE_DELAY: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "-1");

/// A variable of Burn: the device for the moments of an optimiser that it reads from a file. From the CPU they move
/// to the device that trains at the next step. Without it, a build for GPUs looks for one, even for a run on the
/// CPU, and panics if there is none.
const MOMENTS: (&str, &str) = ("BURN_DEVICE", "flex");

/// Gives this process the variables, by starting the program anew. Setting them while the program runs would
/// take unsafe code, and be too late for the allocator. Where starting anew is impossible, the program goes on
/// without them.
pub fn prepare_environment() {
    let mut wanted = Vec::new();
    if env::var_os(PURGE_DELAY.0).is_none() {
        wanted.push(PURGE_DELAY);
    }
    if env::var_os(MOMENTS.0).is_none_or(|value| value != MOMENTS.1) {
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
