//! Another program that trains, as `tang bench-train` runs and reads it.

use std::{
    fs::File,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tang_files::read_bounded;
use tang_lab::LossPoint;

#[cfg(test)]
#[path = "../../tang-files/tests/support/mutator.rs"]
#[allow(dead_code, reason = "damage to tensors is for the files of models")]
mod mutator;

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
        let mut command = self.command(corpus, steps, steps + 1, rows);
        let output = command.output().with_context(|| self.cannot_start())?;
        self.succeeded(output.status)?;
        let last = reports(&String::from_utf8_lossy(&output.stdout))?.pop();
        Ok(last.context("the peer reported nothing")?.tokens_per_second)
    }

    /// The validation losses of a whole run. What it prints goes to the new file `log`, report by
    /// report.
    pub fn run(
        &self,
        corpus: &Path,
        steps: usize,
        every: usize,
        rows: usize,
        log: &Path,
    ) -> Result<Vec<LossPoint>> {
        let file =
            File::create_new(log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = self.command(corpus, steps, every, rows);
        let status = command.stdout(file).status();
        self.succeeded(status.with_context(|| self.cannot_start())?)?;
        loss_points(log)
    }

    fn command(&self, corpus: &Path, steps: usize, every: usize, rows: usize) -> Command {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .args([corpus.join("train.txt"), corpus.join("val.txt")])
            .args(["--steps", &steps.to_string()])
            .args(["--every", &every.to_string()])
            .args(["--rows", &rows.to_string()])
            .stderr(Stdio::inherit());
        command
    }

    fn cannot_start(&self) -> String {
        format!("cannot start the peer `{}`", self.words.join(" "))
    }

    fn succeeded(&self, status: ExitStatus) -> Result<()> {
        let line = self.words.join(" ");
        ensure!(status.success(), "the peer `{line}` failed: {status}");
        Ok(())
    }
}

/// The reports of a log. Other lines, such as a header, are passed over.
fn reports(log: &str) -> Result<Vec<Report>> {
    log.lines()
        .filter(|line| line.contains("\"step\""))
        .map(|line| serde_json::from_str(line).with_context(|| format!("not a report: {line}")))
        .collect()
}

/// The validation losses in a peer's log; there is one at least.
pub fn loss_points(log: &Path) -> Result<Vec<LossPoint>> {
    let bytes = read_bounded(log).with_context(|| format!("cannot read {}", log.display()))?;
    let text = String::from_utf8(bytes).map_err(|error| error.utf8_error());
    let text = text.with_context(|| format!("{} is not UTF-8 text", log.display()))?;
    let points: Vec<LossPoint> = reports(&text)?
        .into_iter()
        .filter_map(|report| {
            Some(LossPoint {
                step: report.step,
                train_seconds: report.train_seconds,
                val_nats_per_char: report.val_nats_per_char?,
            })
        })
        .collect();
    ensure!(
        !points.is_empty(),
        "{} has no validation loss: give the log of a whole run of the peer",
        log.display()
    );
    Ok(points)
}

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
                loss_points(&path)
                    .map(drop)
                    .map_err(|error| format!("{error:#}"))
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
        let point = LossPoint {
            step: 10,
            train_seconds: 3.0,
            val_nats_per_char: 4.5,
        };
        assert_eq!(losses(&format!("{header}{last}\n")).unwrap(), [point]);
        for (text, wanted) in [
            ("{\"step\": 1}", "not a report"),
            (header, "no validation loss"),
        ] {
            let error = losses(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(Peer::new("  ").is_err());
    }
}
