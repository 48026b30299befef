//! The course of a run, one JSON object a line.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tang_files::write_atomically;

use crate::{Evaluation, TrainError};

/// One line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Optimiser steps done.
    pub step: usize,
    /// Seconds spent on steps so far; evaluation and saving are not counted.
    pub train_seconds: f64,
    /// Characters trained on so far.
    pub tokens: u64,
    /// Mean training loss since the line before, nats a character.
    pub train_nats_per_char: f64,
    /// Learning rate of the last step.
    pub learning_rate: f64,
    /// Loss on the validation poems, on the lines where it was measured.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
}

/// The log file of a run, open for further lines.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    file: File,
}

impl RunLog {
    /// Opens the log of a run that stands at `step`; lines of later steps, which a killed run may
    /// have left, are dropped.
    pub(crate) fn open(path: &Path, step: usize) -> Result<Self, TrainError> {
        let kept: String = if path.exists() && step > 0 {
            Self::read(path)?
                .into_iter()
                .filter(|line| line.step <= step)
                .map(|line| to_json(&line))
                .collect()
        } else {
            String::new()
        };
        write_atomically(path, kept.as_bytes()).map_err(TrainError::io(path))?;
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(TrainError::io(path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Reads a whole log. A last line that a killed run left unfinished is skipped.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line other than the last is damaged.
    pub fn read(path: &Path) -> Result<Vec<LogLine>, TrainError> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            let reason = format!("{e}; move the log away, the run itself is whole without it");
            TrainError::damaged(path, reason)
        })?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .enumerate()
            .map(|(i, line)| {
                serde_json::from_str(line)
                    .map_err(|e| TrainError::damaged(path, format!("line {}: {e}", i + 1)))
            })
            .collect()
    }

    pub(crate) fn append(&mut self, line: &LogLine) -> Result<(), TrainError> {
        self.file
            .write_all(to_json(line).as_bytes())
            .map_err(TrainError::io(&self.path))
    }
}

fn to_json(line: &LogLine) -> String {
    let json = serde_json::to_string(line).expect("a log line has only numbers");
    json + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(step: usize, evaluation: Option<Evaluation>) -> LogLine {
        LogLine {
            step,
            train_seconds: 1.5,
            tokens: 100,
            train_nats_per_char: 5.25,
            learning_rate: 1e-3,
            evaluation,
        }
    }

    #[test]
    fn keeps_the_lines_up_to_the_step_it_goes_on_from() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let evaluation = Evaluation {
            nats_per_char: 5.0,
            nats_per_han: 6.0,
        };
        let lines = [line(10, None), line(20, Some(evaluation)), line(30, None)];
        let mut log = RunLog::open(&path, 0).unwrap();
        for line in &lines {
            log.append(line).unwrap();
        }
        std::fs::write(
            &path,
            std::fs::read_to_string(&path).unwrap() + "{\"step\":4",
        )
        .unwrap();
        assert_eq!(RunLog::read(&path).unwrap(), lines);

        let mut log = RunLog::open(&path, 20).unwrap();
        log.append(&lines[0]).unwrap();
        assert_eq!(RunLog::read(&path).unwrap(), [lines[0], lines[1], lines[0]]);
        RunLog::open(&path, 0).unwrap();
        assert!(RunLog::read(&path).unwrap().is_empty());
    }

    #[test]
    fn a_damaged_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        let error = RunLog::read(&path).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
