//! The threads that compute.

use std::{env, thread};

use anyhow::{Result, anyhow};
use rayon::ThreadPoolBuilder;

use crate::output::note;

/// The variable with the number of threads; the default is one per core.
const VARIABLE: &str = "RAYON_NUM_THREADS";
/// The most threads per core; more would only wait for each other.
const PER_CORE: usize = 4;

/// Starts the threads that share all computing: one per core, or `RAYON_NUM_THREADS`, up to four per core.
/// Called once, before any computing.
pub fn start_threads() -> Result<()> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let asked = env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    let threads = threads(asked, cores);
    if let Some(asked) = asked.filter(|asked| *asked > threads) {
        note(format_args!(
            "{VARIABLE} is {asked}, and {threads} threads compute: at most {PER_CORE} a core"
        ));
    }
    ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
        anyhow!(
            "cannot start {threads} threads to compute with ({error}): raise the limit of \
                 processes (`ulimit -u`), or ask for fewer threads with {VARIABLE}=1"
        )
    })
}

/// The number that was asked for, within bounds; 0 asks for the default.
fn threads(asked: Option<usize>, cores: usize) -> usize {
    let asked = asked.filter(|asked| *asked > 0);
    asked.unwrap_or(cores).min(PER_CORE * cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_most_four_threads_a_core() {
        for (asked, wanted) in [
            (None, 2),
            (Some(0), 2),
            (Some(1), 1),
            (Some(8), 8),
            (Some(9), 8),
            (Some(usize::MAX), 8),
        ] {
            assert_eq!(threads(asked, 2), wanted, "{asked:?}");
        }
    }
}
