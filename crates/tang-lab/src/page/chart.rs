//! Line charts, all in one style.

use std::{error::Error, ops::Range};

use plotters::{
    coord::{
        ranged1d::{DefaultFormatting, KeyPointHint},
        types::RangedCoordf64,
    },
    prelude::*,
};

use crate::{LabError, page::count};

const SIZE: (u32, u32) = (860, 500);
/// Most marks on a linear axis.
const MARKS: usize = 9;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(51, 51, 51);
const GRID: RGBColor = RGBColor(225, 225, 225);

/// Colours that readers who see colours differently can tell apart (Okabe and Ito 2008).
pub(crate) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(crate) const VERMILION: RGBColor = RGBColor(213, 94, 0);
pub(crate) const GREEN: RGBColor = RGBColor(0, 158, 115);
/// One colour per model.
pub(crate) const COLORS: [RGBColor; 4] = [BLUE, VERMILION, GREEN, RGBColor(170, 85, 140)];

/// A picture.
pub(crate) struct LineChart<'a> {
    pub title: &'a str,
    pub x: Axis,
    pub y: Axis,
    pub lines: &'a [Line],
    /// The corner of the legend, where no line is.
    pub legend: SeriesLabelPosition,
}

/// An axis: its label with the unit, its range, and the numbers that it marks.
pub(crate) struct Axis {
    label: &'static str,
    range: Range<f64>,
    marks: Vec<f64>,
    is_logarithmic: bool,
}

/// A coordinate of a point.
pub(crate) type Coordinate = fn(&(f64, f64)) -> f64;
pub(crate) const X: Coordinate = |point| point.0;
pub(crate) const Y: Coordinate = |point| point.1;

/// A line.
pub(crate) struct Line {
    pub label: String,
    pub color: RGBColor,
    pub points: Vec<(f64, f64)>,
    pub stroke: Stroke,
}

/// The way a line is drawn.
#[derive(Clone, Copy)]
pub(crate) enum Stroke {
    /// A line alone, for many points.
    Thin,
    /// A line with a dot at each point.
    Dotted,
    /// A ring at each point, to show on another line.
    Rings,
}

impl Axis {
    fn linear(label: &'static str, range: Range<f64>) -> Self {
        Self {
            label,
            marks: RangedCoordf64::from(range.clone()).key_points(MARKS),
            range,
            is_logarithmic: false,
        }
    }

    /// From 0 to `room` times the largest value.
    pub fn from_zero(label: &'static str, lines: &[Line], value: Coordinate, room: f64) -> Self {
        Self::linear(label, 0.0..room * extent(lines, value).end.max(f64::MIN_POSITIVE))
    }

    /// A little beyond all values.
    pub fn around(label: &'static str, lines: &[Line], value: Coordinate) -> Self {
        let Range { start, end } = extent(lines, value);
        Self::linear(label, start - 0.1..end + 0.1)
    }

    /// Equal steps for equal factors, `margin` times beyond the least and the largest value; without
    /// `marks`, 1, 2, 5, 10, 20, ... are marked.
    pub fn logarithmic(
        label: &'static str,
        lines: &[Line],
        value: Coordinate,
        margin: f64,
        marks: Option<Vec<f64>>,
    ) -> Self {
        let decade = |power| [1.0, 2.0, 5.0].map(|digit| digit * 10.0_f64.powi(power));
        let mut marks = marks.unwrap_or_else(|| (-3..8).flat_map(decade).collect());
        let Range { start, end } = extent(lines, value);
        let range = start / margin..end * margin;
        marks.retain(|mark| range.contains(mark));
        Self { label, range, marks, is_logarithmic: true }
    }
}

/// From the least value to the largest.
fn extent(lines: &[Line], value: Coordinate) -> Range<f64> {
    let values = || lines.iter().flat_map(|line| line.points.iter().map(value));
    values().fold(f64::INFINITY, f64::min)..values().fold(f64::NEG_INFINITY, f64::max)
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let scaled = |value: f64| {
            if self.is_logarithmic { value.ln() } else { value }
        };
        let (low, high) = (scaled(self.range.start), scaled(self.range.end));
        let part = (scaled(*value) - low) / (high - low);
        start + (f64::from(end - start) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// A large number with commas, a small one rounded.
fn mark_text(value: &f64) -> String {
    if *value >= 1000.0 {
        count(value.round() as usize).to_string()
    } else {
        ((value * 1e6).round() / 1e6).to_string()
    }
}

impl LineChart<'_> {
    /// The picture as SVG.
    pub fn svg(self) -> Result<String, LabError> {
        let mut svg = String::new();
        let drawn = self.draw(&mut svg);
        drawn.map_err(|error| LabError::Plot(error.to_string()))?;
        Ok(svg)
    }

    fn draw(self, svg: &mut String) -> Result<(), Box<dyn Error>> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let text = |size: u32| (FONT, size).into_font().color(&INK);
        let (x_label, y_label) = (self.x.label, self.y.label);
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .margin_right(28)
            .caption(self.title, text(21))
            .x_label_area_size(54)
            .y_label_area_size(74)
            .build_cartesian_2d(self.x, self.y)?;
        chart
            .configure_mesh()
            .x_desc(x_label)
            .y_desc(y_label)
            .x_label_formatter(&mark_text)
            .y_label_formatter(&mark_text)
            .label_style(text(15))
            .axis_desc_style(text(16))
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for line in self.lines {
            let style = line.color.stroke_width(2);
            let dots = |fill: ShapeStyle, size| {
                let points = line.points.iter();
                points.map(move |point| Circle::new(*point, size, fill))
            };
            if let Stroke::Rings = line.stroke {
                chart
                    .draw_series(dots(style, 6))?
                    .label(&line.label)
                    .legend(move |(x, y)| Circle::new((x + 11, y), 6, style));
                continue;
            }
            if let Stroke::Dotted = line.stroke {
                chart.draw_series(dots(line.color.filled(), 4))?;
            }
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), style))?
                .label(&line.label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
        }
        chart
            .configure_series_labels()
            .position(self.legend)
            .margin(16)
            .legend_area_size(30)
            .label_font(text(15))
            .background_style(WHITE)
            .border_style(GRID)
            .draw()?;
        area.present()?;
        Ok(())
    }
}

/// Losses against time or steps.
pub(crate) fn loss_chart(
    title: &str,
    x_label: &'static str,
    lines: &[Line],
) -> Result<String, LabError> {
    let chart = LineChart {
        title,
        x: Axis::from_zero(x_label, lines, X, 1.0),
        y: Axis::around("nats per character", lines, Y),
        lines,
        legend: SeriesLabelPosition::UpperRight,
    };
    chart.svg()
}

/// One point of a training run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Optimiser steps done.
    pub step: usize,
    /// Training loss, nats per character.
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
    if points.is_empty() {
        return Err(LabError::Plot("the log is empty".to_owned()));
    }
    let training = points.iter().map(|p| (p.step as f64, p.train));
    let validation = points.iter();
    let validation = validation.filter_map(|p| Some((p.step as f64, p.validation?)));
    let line = |label: &str, color, points, stroke| Line {
        label: label.to_owned(),
        color,
        points,
        stroke,
    };
    let lines = [
        line("training", BLUE, training.collect(), Stroke::Thin),
        line("validation", VERMILION, validation.collect(), Stroke::Dotted),
    ];
    loss_chart("Loss while training", "optimiser steps", &lines)
}

#[cfg(test)]
mod tests {

    use super::*;

    fn chart(lines: &[Line]) -> String {
        let chart = LineChart {
            title: "a title",
            x: Axis::from_zero("length, tokens", lines, X, 1.0),
            y: Axis::around("time, ms", lines, Y),
            lines,
            legend: SeriesLabelPosition::UpperLeft,
        };
        chart.svg().unwrap()
    }

    fn line(stroke: Stroke) -> Line {
        Line {
            label: "a line".to_owned(),
            color: BLUE,
            points: vec![(10.0, 1.0), (500.0, 40.0), (1000.0, 90.0)],
            stroke,
        }
    }

    #[test]
    fn everything_has_a_name() {
        let svg = chart(&[line(Stroke::Dotted)]);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in ["a title", "length, tokens", "time, ms", "a line"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn a_dot_for_each_point_unless_the_line_is_thin() {
        let dots = |stroke| {
            let svg = chart(&[line(stroke)]);
            svg.matches("<circle").count()
        };
        assert_eq!([Stroke::Thin, Stroke::Dotted].map(dots), [0, 3]);
        assert_eq!(dots(Stroke::Rings), 3 + 1, "one in the legend");
    }

    #[test]
    fn a_logarithmic_axis_has_equal_steps_for_equal_factors() {
        let lines = [line(Stroke::Thin)];
        let marks = vec![1.0, 10.0, 1000.0, 2000.0];
        // From 10 to 1,000, with a margin of 10.
        let axis = Axis::logarithmic("n", &lines, X, 10.0, Some(marks));
        let places = [1.0, 100.0, 10_000.0].map(|value| axis.map(&value, (0, 200)));
        assert_eq!(places, [0, 100, 200]);
        let near = Axis::logarithmic("n", &lines, X, 1.5, Some(axis.marks.clone()));
        assert_eq!(near.marks, [10.0, 1000.0], "1 and 2000 are off the axis");
        let texts = [32.0, 0.1 + 0.2, 20_000.0].map(|mark| mark_text(&mark));
        assert_eq!(texts, ["32", "0.3", "20,000"]);
    }

    fn point(step: usize, train: f64, validation: Option<f64>) -> CurvePoint {
        CurvePoint { step, train, validation }
    }

    #[test]
    fn draws_both_losses() {
        let points = [point(10, 8.0, None), point(20, 6.0, Some(6.2)), point(30, 5.0, Some(5.5))];
        let svg = loss_curve(&points).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for label in ["training", "validation", "nats per character"] {
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
