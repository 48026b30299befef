//! The log of a run, one JSON object per line.

use std::{
    fmt::Display,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tang_files::{read_bounded, write_atomically};

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
    /// Mean training loss since the line before, nats per character.
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
    /// Opens the log of a run after `step` steps; lines of later steps, which a killed run may
    /// have left, are dropped, and the others stay byte for byte.
    pub(crate) fn open(path: &Path, step: usize) -> Result<Self, TrainError> {
        let mut kept = String::new();
        if path.exists() && step > 0 {
            for line in lines(&read_text(path)?, path) {
                let (text, line) = line?;
                if line.step <= step {
                    kept += text;
                }
            }
        }
        write_atomically(path, kept.as_bytes()).map_err(TrainError::io(path))?;
        let file = OpenOptions::new().append(true).open(path);
        Ok(Self { path: path.to_owned(), file: file.map_err(TrainError::io(path))? })
    }

    /// Reads a whole log. A last line that a killed run left unfinished is skipped.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line other than the last is damaged.
    pub fn read(path: &Path) -> Result<Vec<LogLine>, TrainError> {
        let text = read_text(path)?;
        lines(&text, path).map(|line| Ok(line?.1)).collect()
    }

    pub(crate) fn append(&mut self, line: &LogLine) -> Result<(), TrainError> {
        let json = serde_json::to_string(line).expect("a log line has only numbers");
        let written = self.file.write_all((json + "\n").as_bytes());
        written.map_err(TrainError::io(&self.path))
    }
}

fn read_text(path: &Path) -> Result<String, TrainError> {
    let utf8 = |bytes| String::from_utf8(bytes).map_err(io::Error::other);
    read_bounded(path).and_then(utf8).map_err(|e| damaged_log(path, e))
}

/// The finished lines of a log: the text of each, with its end, and its contents.
fn lines<'a>(
    text: &'a str,
    path: &'a Path,
) -> impl Iterator<Item = Result<(&'a str, LogLine), TrainError>> {
    let finished = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    (1..).zip(finished).map(move |(number, text)| match serde_json::from_str(text) {
        Ok(line) => Ok((text, line)),
        Err(error) => Err(damaged_log(path, format!("line {number}: {error}"))),
    })
}

fn damaged_log(path: &Path, reason: impl Display) -> TrainError {
    let reason = format!("{reason}; move the log away, the run itself is whole without it");
    TrainError::damaged(path, reason)
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
        let evaluation = Evaluation { nats_per_char: 5.0, nats_per_han: 6.0 };
        let lines = [line(10, None), line(20, Some(evaluation)), line(30, None)];
        let mut log = RunLog::open(&path, 0).unwrap();
        for line in &lines {
            log.append(line).unwrap();
        }
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + "{\"step\":4").unwrap();
        assert_eq!(RunLog::read(&path).unwrap(), lines);

        let mut log = RunLog::open(&path, 20).unwrap();
        log.append(&lines[0]).unwrap();
        assert_eq!(RunLog::read(&path).unwrap(), [lines[0], lines[1], lines[0]]);
        RunLog::open(&path, 0).unwrap();
        assert!(RunLog::read(&path).unwrap().is_empty());
    }

    #[test]
    fn kept_lines_stay_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let line = |step: u32, end: &str| {
            format!(
                "{{ \"step\":{step}, \"tokens\": 1, \"train_seconds\": 0.10000000000000001, \
                 \"note\": \"唐\", \"train_nats_per_char\":5e0,\"learning_rate\":1E-3}}{end}"
            )
        };
        let old = line(10, "\n") + &line(20, "  \r\n");
        std::fs::write(&path, old.clone() + &line(30, "\n") + &line(15, "")).unwrap();
        RunLog::open(&path, 20).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
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
