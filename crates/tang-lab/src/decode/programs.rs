//! Other processes that are timed: this program from start to end, and PyTorch.

use std::{
    fmt::Display,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tang_checkpoint::{Family, ModelConfig};

use crate::{
    Bytes, LabError, peak_memory,
    stats::{Spread, after_warm_up, milliseconds},
};

/// Time between two readings of the memory of a running program.
const INTERVAL: Duration = Duration::from_micros(500);
/// Count of runs of a program to measure its memory.
const MEMORY_RUNS: usize = 3;

/// A program from its start to its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ColdStart {
    /// Time from start to end, output included.
    pub time: Spread,
    /// The most resident memory, if the system reports it; the program may use a little more after
    /// the last reading.
    pub peak_bytes: Option<Bytes>,
}

impl ColdStart {
    /// Runs the program that `command` makes `runs` times for its time, after once to read the files from the
    /// disk, and a few times more for its memory.
    pub fn measure(command: impl Fn() -> Command, runs: usize) -> Result<Self, LabError> {
        let times = after_warm_up(runs, |_| milliseconds(|| wait(start(&mut command())?)))?;
        let mut peak_bytes = None;
        // Memory is measured in runs of its own, since reading it takes processor time.
        for _ in 0..MEMORY_RUNS {
            let mut child = start(&mut command())?;
            while matches!(child.try_wait(), Ok(None)) {
                peak_bytes = peak_bytes.max(peak_memory(child.id()));
                thread::sleep(INTERVAL);
            }
            wait(child)?;
        }
        Ok(Self { time: Spread::over(&times, |time| *time), peak_bytes })
    }
}

fn start(command: &mut Command) -> Result<Child, LabError> {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.spawn().map_err(failed)
}

fn wait(mut child: Child) -> Result<(), LabError> {
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(failed(status)) }
}

fn failed(reason: impl Display) -> LabError {
    LabError::Program(reason.to_string())
}

/// Times of PyTorch on the same geometry: eager, random weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TorchPeer {
    /// The version of PyTorch.
    pub torch: String,
    pub threads: usize,
    /// Milliseconds of a text with a cache, the median.
    pub cached_ms: f64,
    pub uncached_ms: f64,
}

/// The script that measures PyTorch, and the Python to run it with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorchScript {
    /// The interpreter, which must have PyTorch.
    pub python: PathBuf,
    /// The script.
    pub script: PathBuf,
}

impl TorchScript {
    /// Times texts of `characters` on a network of this geometry, the median of `runs`.
    pub(crate) fn measure(
        &self,
        config: &ModelConfig,
        characters: usize,
        runs: usize,
    ) -> Result<TorchPeer, LabError> {
        let failed = |reason: String| failed(format!("{}: {reason}", self.script.display()));
        let family = match config.family {
            Family::Gpt2 => "gpt2",
            Family::Llama { .. } => "llama",
        };
        let numbers = [
            ("vocabulary", config.vocab_size),
            ("context", config.context),
            ("width", config.width),
            ("layers", config.layers),
            ("heads", config.heads),
            ("kv-heads", config.kv_heads),
            ("inner", config.feed_forward_width),
            ("characters", characters),
            ("runs", runs),
        ];
        let output = Command::new(&self.python)
            .arg(&self.script)
            .args(["--family", family])
            .args(numbers.map(|(name, number)| format!("--{name}={number}")))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        let last_line = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.trim_end().lines().last().unwrap_or_default().to_owned()
        };
        if !output.status.success() {
            return Err(failed(format!("{}: {}", output.status, last_line(&output.stderr))));
        }
        let line = last_line(&output.stdout);
        serde_json::from_str(&line).map_err(|error| failed(format!("it printed `{line}`: {error}")))
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
        let start = ColdStart::measure(listed, 3).unwrap();
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
        let message = ColdStart::measure(wrong, 1).unwrap_err().to_string();
        assert!(message.contains("exit status"), "{message}");
        assert!(ColdStart::measure(|| Command::new("no-such-program"), 1).is_err());
    }

    #[test]
    fn a_script_that_fails_says_why() {
        let config = ModelConfig::tang_4l(20);
        let measured = |python: PathBuf| {
            let script = PathBuf::from("script.py");
            TorchScript { python, script }.measure(&config, 8, 3)
        };
        let error = measured("no-such-python".into()).unwrap_err().to_string();
        assert!(error.contains("script.py"), "{error}");
        // A test program takes no such arguments.
        let error = measured(std::env::current_exe().unwrap()).unwrap_err();
        assert!(error.to_string().contains("exit status"), "{error}");
    }
}
