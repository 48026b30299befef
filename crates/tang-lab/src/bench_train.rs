//! The speed of training beside that of a peer and that of the machine, as a page.

use std::fmt;

use serde::Serialize;

use crate::{
    Provenance, Race, Utilization,
    average::median,
    table::{table, thousands},
};

/// What `tang bench-train` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchTrain {
    /// Which program took the figures, on what.
    pub provenance: Provenance,
    /// The network that was trained.
    pub model: &'static str,
    /// Speeds of short runs, one for each number of tokens a step.
    pub throughput: Vec<Throughput>,
    /// What of the machine's speed the first of them uses.
    pub utilization: Utilization,
    /// A race with the peer, where one was asked for.
    pub race: Option<Race>,
}

/// Tokens a second of short runs, ours and the peer's in turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Throughput {
    /// Tokens that one optimiser step takes, at the most.
    pub tokens_a_step: usize,
    /// Ours, turn by turn.
    pub ours: Vec<f64>,
    /// The peer's, turn by turn; empty without one.
    pub peer: Vec<f64>,
}

impl Throughput {
    /// The median of ours.
    pub fn tokens_per_second(&self) -> Option<f64> {
        median(&self.ours)
    }

    /// The median of ours over that of the peer, where there is one.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.tokens_per_second()? / median(&self.peer)?)
    }
}

impl fmt::Display for BenchTrain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Training speed: {}\n\n{}\n",
            self.model, self.provenance
        )?;
        let speed = |values: &[f64]| match median(values) {
            Some(median) => thousands(median.round() as u64),
            None => "-".to_owned(),
        };
        let rows = self.throughput.iter().map(|row| {
            [
                thousands(row.tokens_a_step),
                row.ours.len().to_string(),
                speed(&row.ours),
                speed(&row.peer),
                row.ratio()
                    .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x")),
            ]
        });
        let header = [
            "tokens a step",
            "turns",
            "tang, tokens/s",
            "peer, tokens/s",
            "ratio",
        ];
        write!(f, "{}", table(header, rows))?;
        let [first, ..] = self.throughput.as_slice() else {
            return Ok(());
        };
        let step = thousands(first.tokens_a_step);
        write!(f, "\n\nAt {step} tokens a step: {}", self.utilization)?;
        match &self.race {
            Some(race) => write!(f, "\n\n{race}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_medians() {
        let mut row = Throughput {
            tokens_a_step: 8192,
            ours: vec![30.0, 10.0, 20.0],
            peer: vec![5.0, 15.0],
        };
        assert_eq!(row.ratio(), Some(2.0));
        row.peer.clear();
        assert_eq!(row.ratio(), None);
    }
}
