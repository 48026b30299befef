//! The peer: another training program, which a measurement runs and reads.

use std::{
    fs::File,
    io,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use serde::{Deserialize, Serialize};
use tang_files::read_bounded;

use crate::LabError;

/// Tokens of one row of a peer's batch.
const ROW: usize = 128;

/// A validation loss in the course of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LossPoint {
    /// Optimiser steps done.
    pub step: usize,
    /// Seconds spent on steps; evaluation is not counted.
    pub train_seconds: f64,
    /// Loss on the validation poems.
    pub val_nats_per_char: f64,
}

/// A command that takes `TRAIN VALIDATION --steps N --every N --rows N` and prints one JSON object per
/// report, as `scripts/torch_peer.py` does.
pub struct Peer {
    words: Vec<String>,
}

/// The fields of a report that are read here.
#[derive(Deserialize)]
struct Report {
    step: usize,
    train_seconds: f64,
    tokens_per_second: f64,
    val_nats_per_char: Option<f64>,
}

impl Peer {
    /// Splits a command line at its spaces; `None` if it is empty.
    pub fn new(line: &str) -> Option<Self> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self { words })
    }

    /// Tokens per second of a run of `steps` steps of this many tokens.
    pub(super) fn tokens_per_second(
        &self,
        corpus: &Path,
        steps: usize,
        tokens: usize,
    ) -> Result<f64, LabError> {
        // Its first evaluation would come after its last step.
        let output = self.command(corpus, steps, steps + 1, tokens).output();
        let output = output.map_err(|error| self.cannot_start(error))?;
        self.succeeded(output.status)?;
        let last = reports(&String::from_utf8_lossy(&output.stdout))?.pop();
        let last = last.ok_or_else(|| self.failed("reported nothing"))?;
        Ok(last.tokens_per_second)
    }

    /// The validation losses of a whole run. Its output goes to the new file `log`, report by
    /// report.
    pub(super) fn run(
        &self,
        corpus: &Path,
        [steps, every, tokens]: [usize; 3],
        log: &Path,
    ) -> Result<Vec<LossPoint>, LabError> {
        let file = File::create_new(log).map_err(LabError::file("create", log))?;
        let status = self.command(corpus, steps, every, tokens).stdout(file).status();
        self.succeeded(status.map_err(|error| self.cannot_start(error))?)?;
        loss_points(log)
    }

    fn command(&self, corpus: &Path, steps: usize, every: usize, tokens: usize) -> Command {
        let numbers = [("--steps", steps), ("--every", every), ("--rows", tokens / ROW)];
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .args([corpus.join("train.txt"), corpus.join("val.txt")])
            .args(
                numbers.iter().flat_map(|(name, number)| [(*name).to_owned(), number.to_string()]),
            )
            .stderr(Stdio::inherit());
        command
    }

    fn cannot_start(&self, error: io::Error) -> LabError {
        self.failed(&format!("does not start: {error}"))
    }

    fn succeeded(&self, status: ExitStatus) -> Result<(), LabError> {
        if status.success() { Ok(()) } else { Err(self.failed(&format!("failed: {status}"))) }
    }

    fn failed(&self, what: &str) -> LabError {
        LabError::Program(format!("the peer `{}` {what}", self.words.join(" ")))
    }
}

/// The reports of a log. Other lines, such as a header, are skipped.
fn reports(log: &str) -> Result<Vec<Report>, LabError> {
    let lines = log.lines().filter(|line| line.contains("\"step\""));
    let report = |line| {
        let wrong = |error| LabError::Program(format!("not a report: {line}: {error}"));
        serde_json::from_str(line).map_err(wrong)
    };
    lines.map(report).collect()
}

/// The validation losses in a peer's log; there is one at least.
///
/// # Errors
///
/// [`LabError::File`] if it cannot be read or is no UTF-8, [`LabError::Program`] if a report lacks a number,
/// or no report has a loss.
pub fn loss_points(log: &Path) -> Result<Vec<LossPoint>, LabError> {
    let text = read_bounded(log).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    let text = text.map_err(LabError::file("read", log))?;
    let point = |report: Report| {
        Some(LossPoint {
            step: report.step,
            train_seconds: report.train_seconds,
            val_nats_per_char: report.val_nats_per_char?,
        })
    };
    let points: Vec<LossPoint> = reports(&text)?.into_iter().filter_map(point).collect();
    if points.is_empty() {
        return Err(LabError::Program(format!(
            "{} has no validation loss: give the log of a whole run of the peer",
            log.display()
        )));
    }
    Ok(points)
}

#[cfg(test)]
#[path = "../../../tang-files/tests/support/mutator.rs"]
#[allow(dead_code, reason = "damage to tensors is for the files of models")]
mod mutator;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn damaged_logs_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peer.jsonl");
        let log = r#"{"parameters": 5, "threads": 2}
{"step": 5, "train_seconds": 1.5, "tokens_per_second": 9.0, "train_loss": 3.0}
{"step": 10, "train_seconds": 3, "tokens_per_second": 9.5, "val_nats_per_char": 4.5}
"#;
        mutator::attack(
            "peer.jsonl",
            800,
            |mutator| mutator.text(log.as_bytes()),
            |bytes| {
                fs::write(&path, bytes).unwrap();
                loss_points(&path).map(drop).map_err(|error| format!("{error:#}"))
            },
        );
    }

    #[test]
    fn reads_losses_out_of_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("peer.jsonl");
        let losses = |text: &str| {
            fs::write(&log, text).unwrap();
            loss_points(&log)
        };
        let header = r#"{"parameters": 5, "threads": 2}
{"step": 5, "train_seconds": 1.5, "tokens_per_second": 9.0, "train_loss": 3.0}
"#;
        let last = r#"{"step": 10, "train_seconds": 3, "tokens_per_second": 9.5, "val_nats_per_char": 4.5}"#;
        let point = LossPoint { step: 10, train_seconds: 3.0, val_nats_per_char: 4.5 };
        assert_eq!(losses(&format!("{header}{last}\n")).unwrap(), [point]);
        for (text, wanted) in [("{\"step\": 1}", "not a report"), (header, "no validation loss")] {
            let error = losses(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(Peer::new("  ").is_none());
    }
}
