//! The same geometry in PyTorch, to compare with.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use serde::{Deserialize, Serialize};
use tang_checkpoint::{Family, ModelConfig};

use crate::LabError;

/// How fast PyTorch decodes: eager, random weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TorchPeer {
    /// The version of PyTorch.
    pub torch: String,
    /// Threads that it computed with.
    pub threads: usize,
    /// Milliseconds of a text with a cache, the median.
    pub cached_ms: f64,
    /// Milliseconds of a text without one, the median.
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
    ///
    /// # Errors
    ///
    /// [`LabError::Program`] if it does not start, fails, or prints something else.
    pub fn measure(
        &self,
        config: &ModelConfig,
        characters: usize,
        runs: usize,
    ) -> Result<TorchPeer, LabError> {
        let failed = |reason: String| LabError::Program {
            reason: format!("{}: {reason}", self.script.display()),
        };
        let family = match config.family {
            Family::Gpt2 => "gpt2",
            Family::Llama { .. } => "llama",
        };
        let numbers = [
            ("--vocabulary", config.vocab_size),
            ("--context", config.context),
            ("--width", config.width),
            ("--layers", config.layers),
            ("--heads", config.heads),
            ("--kv-heads", config.kv_heads),
            ("--inner", config.feed_forward_width),
            ("--characters", characters),
            ("--runs", runs),
        ];
        let numbers = numbers.map(|(name, number)| format!("{name}={number}"));
        let output = Command::new(&self.python)
            .arg(&self.script)
            .args(["--family", family])
            .args(numbers)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            let last = told.trim_end().lines().last().unwrap_or_default();
            return Err(failed(format!("{}: {last}", output.status)));
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        let line = printed.trim_end().lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|error| failed(format!("it printed `{line}`: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
