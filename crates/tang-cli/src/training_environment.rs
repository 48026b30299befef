//! What libraries read from the environment, as training needs it.

use std::env;

/// Variables and their values:
///
/// - What mimalloc reads at the start of a process: milliseconds after which memory that was freed
///   goes back to the system, -1 for never. A training step allocates and frees the same hundreds of
///   megabytes; given back in between, they are cleared page by page when they come again, which is
///   about a quarter of a step's time.
/// - Where Burn puts the moments of an optimiser that it reads from a file. They move to the device
///   that trains at the next step. Left to itself, a build with GPUs looks for one, even for a
///   run that asks for the CPU, and ends if there is none.
const VARIABLES: [(&str, &str); 2] = [("MIMALLOC_PURGE_DELAY", "-1"), ("BURN_DEVICE", "flex")];

/// Gives this process the variables, by starting the program anew in it; whoever has set one is left
/// alone. Setting them while the program runs would take unsafe code, and be too late for the
/// allocator. Where starting anew is not possible, the program goes on without.
pub fn prepare_environment() {
    let is_missing = |(name, _): &(&str, &str)| env::var_os(name).is_none();
    let missing: Vec<_> = VARIABLES.into_iter().filter(is_missing).collect();
    if !missing.is_empty() {
        start_anew(missing);
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
