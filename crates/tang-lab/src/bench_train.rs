//! The speed of training beside that of a peer, as a page and a picture.

use std::fmt;

use plotters::prelude::SeriesLabelPosition;
use serde::{Deserialize, Serialize};

use crate::{
    LabError, Provenance,
    line_chart::{Axis, BLUE, Line, LineChart, Scale, Stroke, VERMILION},
    table::{table, thousands},
};

/// What `tang bench-train` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchTrain {
    /// Which program took the figures, on what.
    pub provenance: Provenance,
    /// Speeds of short runs, one for each number of tokens a step.
    pub throughput: Vec<Throughput>,
    /// Two whole runs, where they were asked for.
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
    /// The median of ours over that of the peer, where there is one.
    pub fn ratio(&self) -> Option<f64> {
        Some(median(&self.ours)? / median(&self.peer)?)
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some(f64::midpoint(sorted[low], sorted[high]))
}

/// A validation loss on the way of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LossPoint {
    /// Optimiser steps done.
    pub step: usize,
    /// Seconds spent on steps; evaluation is not counted.
    pub train_seconds: f64,
    /// Loss on the validation poems.
    pub val_nats_per_char: f64,
}

/// Two whole runs: when ours is as good as the peer at its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Race {
    /// Ours.
    pub ours: Vec<LossPoint>,
    /// The peer's.
    pub peer: Vec<LossPoint>,
}

impl Race {
    /// Pairs two runs.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] if one has no point.
    pub fn new(ours: Vec<LossPoint>, peer: Vec<LossPoint>) -> Result<Self, LabError> {
        for (name, points) in [("ours", &ours), ("the peer's", &peer)] {
            if points.is_empty() {
                let reason = format!("{name} has no validation loss to compare");
                return Err(LabError::Plot { reason });
            }
        }
        Ok(Self { ours, peer })
    }

    /// The peer's last point.
    fn finish(&self) -> LossPoint {
        *self.peer.last().expect("a race has points")
    }

    /// Our first point that is no worse than the peer's last.
    pub fn reached(&self) -> Option<LossPoint> {
        let goal = self.finish().val_nats_per_char;
        let mut points = self.ours.iter();
        points.find(|p| p.val_nats_per_char <= goal).copied()
    }

    /// Both curves as SVG.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] if they cannot be drawn.
    pub fn plot(&self) -> Result<String, LabError> {
        let all = || self.ours.iter().chain(&self.peer);
        let losses = || all().map(|point| point.val_nats_per_char);
        let low = losses().fold(f64::INFINITY, f64::min);
        let high = losses().fold(f64::NEG_INFINITY, f64::max);
        let end = all().map(|point| point.train_seconds).fold(0.0, f64::max);
        let line = |label: &str, color, points: &[LossPoint]| Line {
            label: label.to_owned(),
            color,
            points: points
                .iter()
                .map(|point| (point.train_seconds / 60.0, point.val_nats_per_char))
                .collect(),
            stroke: Stroke::Dotted,
        };
        let chart = LineChart {
            title: "Validation loss against training time",
            x: Axis {
                label: "minutes of training, evaluation apart",
                range: 0.0..end / 60.0,
                scale: Scale::Linear,
            },
            y: Axis {
                label: "nats a character",
                range: low - 0.1..high + 0.1,
                scale: Scale::Linear,
            },
            lines: vec![
                line("tang train", BLUE, &self.ours),
                line("peer", VERMILION, &self.peer),
            ],
            legend: SeriesLabelPosition::UpperRight,
        };
        chart.to_svg()
    }
}

impl fmt::Display for BenchTrain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Training speed\n\n{}\n", self.provenance)?;
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
        let Some(race) = &self.race else {
            return Ok(());
        };
        let finish = race.finish();
        let minutes = |point: LossPoint| point.train_seconds / 60.0;
        write!(
            f,
            "\n\nThe peer ends at {:.4} nats a character after {:.1} minutes of training. ",
            finish.val_nats_per_char,
            minutes(finish)
        )?;
        match race.reached() {
            Some(point) => write!(
                f,
                "`tang train` is at {:.4} after {:.1} minutes, step {}: {:.2}x as fast.",
                point.val_nats_per_char,
                minutes(point),
                point.step,
                finish.train_seconds / point.train_seconds
            ),
            None => write!(f, "`tang train` does not get there."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(losses: &[f64]) -> Vec<LossPoint> {
        let point = |(i, loss): (usize, &f64)| LossPoint {
            step: i + 1,
            train_seconds: 60.0 * (i + 1) as f64,
            val_nats_per_char: *loss,
        };
        losses.iter().enumerate().map(point).collect()
    }

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

    #[test]
    fn says_when_the_goal_is_reached() {
        let race = Race::new(points(&[6.0, 5.0, 4.0]), points(&[7.0, 6.5, 6.0, 5.0])).unwrap();
        assert_eq!(race.reached().map(|point| point.step), Some(2));
        let bench = BenchTrain {
            provenance: Provenance::this(None),
            throughput: Vec::new(),
            race: Some(race.clone()),
        };
        assert!(
            bench
                .to_string()
                .contains("after 2.0 minutes, step 2: 2.00x")
        );
        let svg = race.plot().unwrap();
        assert_eq!(svg.matches("<circle").count(), 7);

        let race = Race::new(points(&[6.0]), points(&[5.0])).unwrap();
        assert_eq!(race.reached(), None);
        assert!(Race::new(Vec::new(), points(&[5.0])).is_err());
    }
}
