//! Where a figure was measured.

use std::fmt;

use serde::Serialize;

/// The machine that a measurement ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Model name of the processor, or its architecture where the system does not say.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Threads that compute: one a core, or what RAYON_NUM_THREADS says.
    pub threads: usize,
    /// Operating system and architecture.
    pub system: String,
}

impl Machine {
    /// The machine that this process runs on.
    pub fn this() -> Self {
        let arch = std::env::consts::ARCH;
        let processor = std::fs::read_to_string("/proc/cpuinfo")
            .ok()
            .and_then(|text| {
                let line = text.lines().find(|line| line.starts_with("model name"))?;
                Some(line.split_once(':')?.1.trim().to_owned())
            })
            .unwrap_or_else(|| arch.to_owned());
        Self {
            processor,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            threads: rayon::current_num_threads(),
            system: format!("{} {arch}", std::env::consts::OS),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            processor,
            cores,
            threads,
            system,
        } = self;
        write!(f, "{processor}, {cores} cores, {threads} threads, {system}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_this_machine() {
        let machine = Machine::this();
        assert!(machine.cores > 0 && machine.threads > 0);
        assert!(machine.to_string().contains(std::env::consts::ARCH));
    }
}
