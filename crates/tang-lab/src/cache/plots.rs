//! The pictures of the laboratory's page.

use plotters::prelude::SeriesLabelPosition;

use crate::{
    LabError,
    cache::{
        ModelBench,
        timing::{LengthSeries, LengthTiming},
    },
    page::chart::{Axis, BLUE, COLORS, GREEN, Line, LineChart, Stroke, VERMILION, X, Y},
};

/// The picture of the speed-up on all models.
pub(crate) const SPEED_UP_FILE: &str = "speed-up.svg";

/// The picture of a model's times.
pub(crate) fn time_file(model: &str) -> String {
    format!("{model}-time.svg")
}

/// The picture of a model's memory.
pub(crate) fn memory_file(model: &str) -> String {
    format!("{model}-memory.svg")
}

/// Names of files, and SVG.
pub(crate) fn plots(models: &[ModelBench]) -> Result<Vec<(String, String)>, LabError> {
    let mut plots = vec![(SPEED_UP_FILE.to_owned(), speed_up_plot(models)?)];
    for model in models {
        plots.push((time_file(&model.name), time_plot(model)?));
        plots.push((memory_file(&model.name), memory_plot(model)?));
    }
    Ok(plots)
}

/// Time against length on logarithmic axes, where a power law is a straight line.
fn time_plot(model: &ModelBench) -> Result<String, LabError> {
    let series = &model.timing.long;
    let line = |label: &str, color, exponent: Option<f64>, figure| Line {
        label: match exponent {
            Some(k) => format!("{label}: grows as n^{k:.2}"),
            None => label.to_owned(),
        },
        color,
        points: points(series, figure),
        stroke: Stroke::Dotted,
    };
    let cached = series.growth.map(|growth| growth.cached_time.all.exponent);
    let uncached = series.growth.map(|growth| growth.uncached_time.all.exponent);
    let lines = [
        line("without the cache", VERMILION, uncached, |row| row.uncached.total.median_ms),
        line("with the cache", BLUE, cached, |row| row.cached.total.median_ms),
    ];
    let lengths = lines[0].points.iter().map(X).collect();
    let chart = LineChart {
        title: &format!("{}: time to write n characters", model.name),
        x: Axis::logarithmic("characters n (logarithmic)", &lines, X, 1.1, Some(lengths)),
        y: Axis::logarithmic("milliseconds (logarithmic)", &lines, Y, 1.4, None),
        lines: &lines,
        legend: SeriesLabelPosition::UpperLeft,
    };
    chart.svg()
}

/// Speed-up against length, each model on its own and with random weights.
fn speed_up_plot(models: &[ModelBench]) -> Result<String, LabError> {
    let lines = models.iter().zip(COLORS.into_iter().cycle()).flat_map(|(model, color)| {
        let line = |series: &LengthSeries, stroke| Line {
            label: format!("{}, {}", model.name, series.subject),
            color,
            points: points(series, |row| row.speed_up),
            stroke,
        };
        [line(&model.timing.long, Stroke::Dotted), line(&model.timing.trained, Stroke::Rings)]
    });
    let lines: Vec<Line> = lines.collect();
    let chart = LineChart {
        title: "How many times faster with the cache",
        x: Axis::from_zero("characters", &lines, X, 1.05),
        // Room for the legend, if the speed-up is the same everywhere.
        y: Axis::from_zero("time without / time with", &lines, Y, 1.3),
        lines: &lines,
        legend: SeriesLabelPosition::UpperLeft,
    };
    chart.svg()
}

/// Memory against length for each number of key/value heads.
fn memory_plot(model: &ModelBench) -> Result<String, LabError> {
    let memory = &model.proof.bytes;
    let lines = memory.sharing.iter().zip([VERMILION, BLUE, GREEN]).map(|(sharing, color)| {
        let (name, kv_heads) = (sharing.name, sharing.kv_heads);
        let is_own = kv_heads == memory.kv_heads;
        let own = if is_own { format!(": {}", model.name) } else { String::new() };
        let sizes = sharing.sizes.iter();
        Line {
            label: format!("{name}, g = {kv_heads}{own}"),
            color,
            points: sizes
                .map(|size| (size.tokens as f64, size.used_bytes as f64 / 1024.0))
                .collect(),
            stroke: Stroke::Dotted,
        }
    });
    let lines: Vec<Line> = lines.collect();
    let chart = LineChart {
        title: &format!(
            "{}: memory of the cache, {} query heads on g key/value heads",
            model.name, model.summary.heads
        ),
        x: Axis::from_zero("cached tokens", &lines, X, 1.05),
        y: Axis::from_zero("KiB in use", &lines, Y, 1.05),
        lines: &lines,
        legend: SeriesLabelPosition::UpperLeft,
    };
    chart.svg()
}

fn points(series: &LengthSeries, figure: fn(&LengthTiming) -> f64) -> Vec<(f64, f64)> {
    series.rows.iter().map(|row| row.point(figure)).collect()
}
