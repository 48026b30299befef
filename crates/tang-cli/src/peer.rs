//! Another program that trains, as `tang bench-train` runs and reads it.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tang_lab::LossPoint;

/// A command that takes `TRAIN VALIDATION --steps N --every N --rows N` and prints a JSON object a
/// report, as `scripts/torch_peer.py` does.
pub struct Peer {
    words: Vec<String>,
}

/// The part of a report that matters here.
#[derive(Deserialize)]
struct Report {
    step: usize,
    train_seconds: f64,
    tokens_per_second: f64,
    val_nats_per_char: Option<f64>,
}

impl Peer {
    /// Tokens of one row.
    pub const ROW: usize = 128;

    /// Takes a command line apart at its spaces.
    pub fn new(line: &str) -> Result<Self> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        ensure!(
            !words.is_empty(),
            "--peer is empty: give a command, such as \"python3 scripts/torch_peer.py\""
        );
        Ok(Self { words })
    }

    /// Tokens a second of a run of `steps` steps.
    pub fn tokens_per_second(&self, corpus: &Path, steps: usize, rows: usize) -> Result<f64> {
        // Its first evaluation would come after its last step.
        let log = self.run(corpus, steps, steps + 1, rows)?;
        let last = reports(&log)?.pop();
        Ok(last.context("the peer reported nothing")?.tokens_per_second)
    }

    /// What a whole run reports; [`loss_points`] reads it.
    pub fn run(&self, corpus: &Path, steps: usize, every: usize, rows: usize) -> Result<String> {
        let line = self.words.join(" ");
        let output = Command::new(&self.words[0])
            .args(&self.words[1..])
            .args([corpus.join("train.txt"), corpus.join("val.txt")])
            .args(["--steps", &steps.to_string()])
            .args(["--every", &every.to_string()])
            .args(["--rows", &rows.to_string()])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start the peer `{line}`"))?;
        ensure!(
            output.status.success(),
            "the peer `{line}` failed: {}",
            output.status
        );
        String::from_utf8(output.stdout)
            .with_context(|| format!("the peer `{line}` wrote something else than UTF-8"))
    }
}

/// The reports of a log. Other lines, such as a header, are passed over.
fn reports(log: &str) -> Result<Vec<Report>> {
    log.lines()
        .filter(|line| line.contains("\"step\""))
        .map(|line| serde_json::from_str(line).with_context(|| format!("not a report: {line}")))
        .collect()
}

/// The validation losses in a peer's log.
pub fn loss_points(log: &str) -> Result<Vec<LossPoint>> {
    let points = reports(log)?.into_iter().filter_map(|report| {
        Some(LossPoint {
            step: report.step,
            train_seconds: report.train_seconds,
            val_nats_per_char: report.val_nats_per_char?,
        })
    });
    Ok(points.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_losses_out_of_a_log() {
        let log = r#"{"parameters": 5, "threads": 2}
{"step": 5, "train_seconds": 1.5, "tokens_per_second": 9.0, "train_loss": 3.0}
{"step": 10, "train_seconds": 3, "tokens_per_second": 9.5, "val_nats_per_char": 4.5}
"#;
        let point = LossPoint {
            step: 10,
            train_seconds: 3.0,
            val_nats_per_char: 4.5,
        };
        assert_eq!(loss_points(log).unwrap(), [point]);
        let error = loss_points("{\"step\": 1}").unwrap_err();
        assert!(error.to_string().contains("not a report"), "{error}");
        assert!(Peer::new("  ").is_err());
    }
}
