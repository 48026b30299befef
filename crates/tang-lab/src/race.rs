//! Two whole runs of training: when one is as good as the other at its end.

use std::fmt;

use plotters::prelude::SeriesLabelPosition;
use serde::Serialize;

use crate::{
    LabError,
    line_chart::{Axis, BLUE, Line, LineChart, Scale, Stroke, VERMILION},
};

/// A validation loss on the way of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LossPoint {
    /// Optimiser steps done.
    pub step: usize,
    /// Seconds spent on steps; evaluation is not counted.
    pub train_seconds: f64,
    /// Loss on the validation poems.
    pub val_nats_per_char: f64,
}

/// Our run against the whole run of a peer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Race {
    /// Where the peer ends.
    pub goal: LossPoint,
    /// Our first point that is no worse, if there is one.
    pub reached: Option<LossPoint>,
    /// The peer's seconds over ours, both up to there.
    pub speed_up: Option<f64>,
    /// Where ours ends.
    pub end: LossPoint,
    /// The course of ours.
    pub ours: Vec<LossPoint>,
    /// The course of the peer's.
    pub peer: Vec<LossPoint>,
}

impl Race {
    /// Pairs two runs.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] if one has no point.
    pub fn new(ours: Vec<LossPoint>, peer: Vec<LossPoint>) -> Result<Self, LabError> {
        let last = |name: &str, points: &[LossPoint]| {
            points.last().copied().ok_or_else(|| LabError::Plot {
                reason: format!("{name} has no validation loss to compare"),
            })
        };
        let (end, goal) = (last("our run", &ours)?, last("the peer", &peer)?);
        let is_there = |point: &&LossPoint| point.val_nats_per_char <= goal.val_nats_per_char;
        let reached = ours.iter().find(is_there).copied();
        Ok(Self {
            goal,
            reached,
            speed_up: reached.map(|point| goal.train_seconds / point.train_seconds),
            end,
            ours,
            peer,
        })
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

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |point: LossPoint| {
            format!(
                "{:.4} nats a character after {:.1} minutes of training, step {}",
                point.val_nats_per_char,
                point.train_seconds / 60.0,
                point.step
            )
        };
        write!(f, "The peer ends at {}. ", at(self.goal))?;
        match (self.reached, self.speed_up) {
            (Some(point), Some(speed_up)) => {
                write!(
                    f,
                    "`tang train` is at {}: {speed_up:.2}x as fast.",
                    at(point)
                )
            }
            _ => write!(
                f,
                "`tang train` does not get there: it ends at {}, {:.4} above.",
                at(self.end),
                self.end.val_nats_per_char - self.goal.val_nats_per_char
            ),
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
    fn says_when_the_goal_is_reached() {
        let race = Race::new(points(&[6.0, 5.0, 4.0]), points(&[7.0, 6.5, 6.0, 5.0])).unwrap();
        assert_eq!(race.reached.map(|point| point.step), Some(2));
        assert_eq!(race.speed_up, Some(2.0));
        let text = race.to_string();
        assert!(
            text.contains("ends at 5.0000 nats a character after 4.0 minutes"),
            "{text}"
        );
        assert!(
            text.contains("after 2.0 minutes of training, step 2: 2.00x"),
            "{text}"
        );
        let svg = race.plot().unwrap();
        assert_eq!(svg.matches("<circle").count(), 7);
    }

    #[test]
    fn says_how_far_the_goal_is() {
        let race = Race::new(points(&[6.0, 5.25]), points(&[5.0])).unwrap();
        assert_eq!((race.reached, race.speed_up), (None, None));
        let text = race.to_string();
        assert!(
            text.contains("does not get there: it ends at 5.2500"),
            "{text}"
        );
        assert!(text.ends_with("step 2, 0.2500 above."), "{text}");
        assert!(Race::new(Vec::new(), points(&[5.0])).is_err());
    }
}
