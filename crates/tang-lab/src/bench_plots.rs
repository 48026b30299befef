//! The pictures of the laboratory's page.

use std::ops::Range;

use plotters::{prelude::SeriesLabelPosition, style::RGBColor};

use crate::{
    BenchCache, LabError, LengthSeries, LengthTiming, ModelBench,
    line_chart::{Axis, BLUE, GREEN, Line, LineChart, PURPLE, Scale, Stroke, VERMILION},
};

/// The picture of the speed-up on all models.
pub(crate) const SPEED_UP_FILE: &str = "speed-up.svg";

/// The picture of a model's times.
pub(crate) fn time_file(model: &str) -> String {
    format!("{model}-time.svg")
}

/// The picture of a model's memory.
pub(crate) fn bytes_file(model: &str) -> String {
    format!("{model}-memory.svg")
}

impl BenchCache {
    /// The pictures that the page shows: names of files, and SVG.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] if one cannot be drawn.
    pub fn plots(&self) -> Result<Vec<(String, String)>, LabError> {
        let mut plots = vec![(SPEED_UP_FILE.to_owned(), speed_up_plot(&self.models)?)];
        for model in &self.models {
            plots.push((time_file(&model.name), time_plot(model)?));
            plots.push((bytes_file(&model.name), bytes_plot(model)?));
        }
        Ok(plots)
    }
}

/// Time against length on logarithmic axes, where a power law is a straight line.
fn time_plot(model: &ModelBench) -> Result<String, LabError> {
    let series = &model.timing.long;
    let line = |label: &str, color, exponent: Option<f64>, figure: fn(&LengthTiming) -> f64| Line {
        label: match exponent {
            Some(k) => format!("{label}: grows as n^{k:.2}"),
            None => label.to_owned(),
        },
        color,
        points: points(series, figure),
        stroke: Stroke::Dotted,
    };
    let lines = vec![
        line(
            "without the cache",
            VERMILION,
            series
                .growth
                .map(|growth| growth.uncached_time.all.exponent),
            |row| row.uncached.total.median_ms,
        ),
        line(
            "with the cache",
            BLUE,
            series.growth.map(|growth| growth.cached_time.all.exponent),
            |row| row.cached.total.median_ms,
        ),
    ];
    let lengths: Vec<f64> = series
        .rows
        .iter()
        .map(|row| row.characters as f64)
        .collect();
    let times: Vec<f64> = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.1))
        .collect();
    let chart = LineChart {
        title: &format!("{}: time to write n characters", model.name),
        x: Axis {
            label: "characters n (logarithmic)",
            range: around(&lengths, 1.1),
            scale: Scale::Logarithmic(lengths),
        },
        y: Axis {
            label: "milliseconds (logarithmic)",
            range: around(&times, 1.4),
            scale: Scale::Logarithmic(round_numbers()),
        },
        lines,
        legend: SeriesLabelPosition::UpperLeft,
    };
    chart.to_svg()
}

/// Speed-up against length, each model on its own and with random weights.
fn speed_up_plot(models: &[ModelBench]) -> Result<String, LabError> {
    let colors = [BLUE, VERMILION, GREEN, PURPLE].into_iter().cycle();
    let lines: Vec<Line> = models
        .iter()
        .zip(colors)
        .flat_map(|(model, color)| {
            let line = |series: &LengthSeries, stroke| Line {
                label: format!("{}, {}", model.name, series.subject),
                color,
                points: points(series, |row| row.speed_up),
                stroke,
            };
            [
                line(&model.timing.long, Stroke::Dotted),
                line(&model.timing.trained, Stroke::Rings),
            ]
        })
        .collect();
    let chart = LineChart {
        title: "How many times faster with the cache",
        x: axis_from_zero("characters", &lines, |point| point.0),
        // Room for the legend, should the speed-up be the same everywhere.
        y: axis_from_zero("time without / time with", &lines, |point| 1.25 * point.1),
        lines,
        legend: SeriesLabelPosition::UpperLeft,
    };
    chart.to_svg()
}

/// Memory against length for each number of key/value heads.
fn bytes_plot(model: &ModelBench) -> Result<String, LabError> {
    let colors: [RGBColor; 3] = [VERMILION, BLUE, GREEN];
    let bytes = &model.bytes;
    let lines: Vec<Line> = bytes
        .sharing
        .iter()
        .zip(colors)
        .map(|(sharing, color)| {
            let own = match sharing.kv_heads == bytes.kv_heads {
                true => format!(": {}", model.name),
                false => String::new(),
            };
            let sizes = sharing.sizes.iter();
            Line {
                label: format!("{}, g = {}{own}", sharing.name, sharing.kv_heads),
                color,
                points: sizes
                    .map(|size| (size.tokens as f64, size.used_bytes as f64 / 1024.0))
                    .collect(),
                stroke: Stroke::Dotted,
            }
        })
        .collect();
    let chart = LineChart {
        title: &format!(
            "{}: memory of the cache, {} query heads on g key/value heads",
            model.name, model.summary.heads
        ),
        x: axis_from_zero("tokens held", &lines, |point| point.0),
        y: axis_from_zero("KiB in use", &lines, |point| point.1),
        lines,
        legend: SeriesLabelPosition::UpperLeft,
    };
    chart.to_svg()
}

fn points(series: &LengthSeries, figure: impl Fn(&LengthTiming) -> f64) -> Vec<(f64, f64)> {
    let rows = series.rows.iter();
    rows.map(|row| (row.characters as f64, figure(row)))
        .collect()
}

/// A linear axis on which all points show, with a little room beyond them.
fn axis_from_zero<'a>(
    label: &'a str,
    lines: &[Line],
    value: impl Fn(&(f64, f64)) -> f64,
) -> Axis<'a> {
    let points = lines.iter().flat_map(|line| &line.points);
    Axis {
        label,
        range: 0.0..1.05 * points.map(value).fold(1.0, f64::max),
        scale: Scale::Linear,
    }
}

/// The range of a logarithmic axis: from the least to the largest, and `margin` times beyond.
fn around(values: &[f64], margin: f64) -> Range<f64> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    low / margin..high * margin
}

/// Marks of a logarithmic axis: 1, 2, 5, 10, 20, ... from a microsecond to a day; those outside of
/// the range do not show.
fn round_numbers() -> Vec<f64> {
    let decade = |power| [1.0, 2.0, 5.0].map(|digit| digit * 10.0_f64.powi(power));
    (-3..8).flat_map(decade).collect()
}
