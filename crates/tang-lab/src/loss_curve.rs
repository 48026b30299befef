//! The loss over a training run, as a picture.

use plotters::prelude::*;

use crate::LabError;

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
    let plot = |e: &dyn std::fmt::Display| LabError::Plot {
        reason: e.to_string(),
    };
    let Some(last) = points.iter().map(|point| point.step).max() else {
        return Err(plot(&"the log is empty"));
    };
    let losses = || {
        points
            .iter()
            .flat_map(|p| [Some(p.train), p.validation])
            .flatten()
    };
    let low = losses().fold(f64::INFINITY, f64::min);
    let high = losses().fold(f64::NEG_INFINITY, f64::max);

    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (800, 450)).into_drawing_area();
    area.fill(&WHITE).map_err(|e| plot(&e))?;
    let mut chart = ChartBuilder::on(&area)
        .margin(20)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(0..last, low - 0.1..high + 0.1)
        .map_err(|e| plot(&e))?;
    chart
        .configure_mesh()
        .x_desc("steps")
        .y_desc("nats a character")
        .light_line_style(WHITE)
        .draw()
        .map_err(|e| plot(&e))?;
    let train = points.iter().map(|p| (p.step, p.train));
    let validation: Vec<(usize, f64)> = points
        .iter()
        .filter_map(|p| Some((p.step, p.validation?)))
        .collect();
    chart
        .draw_series(LineSeries::new(train, BLUE.mix(0.5)))
        .map_err(|e| plot(&e))?
        .label("training")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLUE.mix(0.5)));
    chart
        .draw_series(LineSeries::new(validation, RED.stroke_width(2)).point_size(3))
        .map_err(|e| plot(&e))?
        .label("validation")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], RED.stroke_width(2)));
    chart
        .configure_series_labels()
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()
        .map_err(|e| plot(&e))?;
    area.present().map_err(|e| plot(&e))?;
    drop((chart, area));
    Ok(svg)
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
