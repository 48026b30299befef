//! The loss over a training run, as a picture.

use plotters::prelude::SeriesLabelPosition;

use crate::{
    LabError,
    line_chart::{Axis, BLUE, Line, LineChart, Scale, Stroke, VERMILION},
};

/// One point of a training run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Optimiser steps done.
    pub step: usize,
    /// Training loss, nats a character.
    pub train: f64,
    /// Validation loss, where it was measured.
    pub validation: Option<f64>,
}

/// Draws training and validation loss as SVG.
///
/// # Errors
///
/// [`LabError::Plot`] if there is no point to draw.
pub fn loss_curve(points: &[CurvePoint]) -> Result<String, LabError> {
    let Some(last) = points.iter().map(|point| point.step).max() else {
        return Err(LabError::Plot {
            reason: "the log is empty".to_owned(),
        });
    };
    let training: Vec<_> = points.iter().map(|p| (p.step as f64, p.train)).collect();
    let validation: Vec<_> = points
        .iter()
        .filter_map(|p| Some((p.step as f64, p.validation?)))
        .collect();
    let losses = || training.iter().chain(&validation).map(|(_, loss)| *loss);
    let low = losses().fold(f64::INFINITY, f64::min);
    let high = losses().fold(f64::NEG_INFINITY, f64::max);
    let chart = LineChart {
        title: "Loss while training",
        x: Axis {
            label: "optimiser steps",
            range: 0.0..last as f64,
            scale: Scale::Linear,
        },
        y: Axis {
            label: "nats a character",
            range: low - 0.1..high + 0.1,
            scale: Scale::Linear,
        },
        lines: vec![
            Line {
                label: "training".to_owned(),
                color: BLUE,
                points: training,
                stroke: Stroke::Thin,
            },
            Line {
                label: "validation".to_owned(),
                color: VERMILION,
                points: validation,
                stroke: Stroke::Dotted,
            },
        ],
        legend: SeriesLabelPosition::UpperRight,
    };
    chart.to_svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(step: usize, train: f64, validation: Option<f64>) -> CurvePoint {
        CurvePoint {
            step,
            train,
            validation,
        }
    }

    #[test]
    fn draws_both_losses() {
        let points = [
            point(10, 8.0, None),
            point(20, 6.0, Some(6.2)),
            point(30, 5.0, Some(5.5)),
        ];
        let svg = loss_curve(&points).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for label in ["training", "validation", "nats a character"] {
            assert!(svg.contains(label), "{label}");
        }
        let without = loss_curve(&points[..1]).unwrap();
        assert!(svg.matches("<circle").count() > without.matches("<circle").count());
    }

    #[test]
    fn refuses_an_empty_log() {
        assert!(loss_curve(&[]).is_err());
    }
}
