//! Pictures with lines: one style for all of them.

use std::{error::Error, ops::Range};

use plotters::{
    coord::{
        ranged1d::{DefaultFormatting, KeyPointHint},
        types::RangedCoordf64,
    },
    prelude::*,
};

use crate::{LabError, table::thousands};

const SIZE: (u32, u32) = (860, 500);
/// Marks on a linear axis, at most.
const MARKS: usize = 9;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(51, 51, 51);
const GRID: RGBColor = RGBColor(225, 225, 225);

/// Colours that readers who see colours differently can tell apart (Okabe and Ito 2008).
pub(crate) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(crate) const VERMILION: RGBColor = RGBColor(213, 94, 0);
pub(crate) const GREEN: RGBColor = RGBColor(0, 158, 115);
pub(crate) const PURPLE: RGBColor = RGBColor(170, 85, 140);

/// A picture.
pub(crate) struct LineChart<'a> {
    pub title: &'a str,
    pub x: Axis<'a>,
    pub y: Axis<'a>,
    pub lines: Vec<Line>,
    /// The corner that the lines leave free.
    pub legend: SeriesLabelPosition,
}

/// One of its axes.
pub(crate) struct Axis<'a> {
    /// What it shows, with the unit.
    pub label: &'a str,
    pub range: Range<f64>,
    pub scale: Scale,
}

/// Where a number stands on an axis.
pub(crate) enum Scale {
    Linear,
    /// By its logarithm, with marks at these numbers.
    Logarithmic(Vec<f64>),
}

/// One of its lines.
pub(crate) struct Line {
    pub label: String,
    pub color: RGBColor,
    pub points: Vec<(f64, f64)>,
    pub stroke: Stroke,
}

/// How a line is drawn.
#[derive(Clone, Copy)]
pub(crate) enum Stroke {
    /// A line alone, for many points.
    Thin,
    /// A line with a dot at each point.
    Dotted,
    /// A ring at each point, to lie on another line.
    Rings,
}

/// An axis as plotters takes it, in the numbers that it shows.
struct Coordinates {
    range: Range<f64>,
    marks: Vec<f64>,
    is_logarithmic: bool,
}

impl Axis<'_> {
    fn coordinates(&self) -> Coordinates {
        let range = self.range.clone();
        let (marks, is_logarithmic) = match &self.scale {
            Scale::Linear => (RangedCoordf64::from(range.clone()).key_points(MARKS), false),
            Scale::Logarithmic(marks) => {
                let shown = |mark: &f64| (range.start..=range.end).contains(mark);
                (marks.iter().copied().filter(shown).collect(), true)
            }
        };
        Coordinates {
            range,
            marks,
            is_logarithmic,
        }
    }
}

impl Ranged for Coordinates {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let place = |value: f64| match self.is_logarithmic {
            true => value.ln(),
            false => value,
        };
        let (low, high) = (place(self.range.start), place(self.range.end));
        let part = (place(*value) - low) / (high - low);
        start + (f64::from(end - start) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => Vec::new(),
            false => self.marks.clone(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// A mark's number, a large one with commas, a small one without the noise of its last digits.
fn mark_text(value: &f64) -> String {
    match *value >= 1000.0 {
        true => thousands(value.round() as usize),
        false => format!("{}", (value * 1e6).round() / 1e6),
    }
}

impl LineChart<'_> {
    /// The picture as SVG.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] if it cannot be drawn.
    pub fn to_svg(&self) -> Result<String, LabError> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| LabError::Plot {
            reason: error.to_string(),
        })?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn Error>> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .margin_right(28)
            .caption(self.title, (FONT, 21).into_font().color(&INK))
            .x_label_area_size(54)
            .y_label_area_size(74)
            .build_cartesian_2d(self.x.coordinates(), self.y.coordinates())?;
        chart
            .configure_mesh()
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .x_label_formatter(&mark_text)
            .y_label_formatter(&mark_text)
            .label_style((FONT, 15).into_font().color(&INK))
            .axis_desc_style((FONT, 16).into_font().color(&INK))
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for line in &self.lines {
            let style = line.color.stroke_width(2);
            let dot = |fill: ShapeStyle, size| {
                let points = line.points.iter();
                points.map(move |point| Circle::new(*point, size, fill))
            };
            let drawn = match line.stroke {
                Stroke::Rings => chart.draw_series(dot(style, 6))?,
                Stroke::Thin => {
                    chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?
                }
                Stroke::Dotted => {
                    chart.draw_series(dot(line.color.filled(), 4))?;
                    chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?
                }
            };
            let drawn = drawn.label(&line.label);
            match line.stroke {
                Stroke::Rings => drawn.legend(move |(x, y)| Circle::new((x + 11, y), 6, style)),
                Stroke::Thin | Stroke::Dotted => {
                    drawn.legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style))
                }
            };
        }
        chart
            .configure_series_labels()
            .position(self.legend.clone())
            .margin(16)
            .legend_area_size(30)
            .label_font((FONT, 15).into_font().color(&INK))
            .background_style(WHITE)
            .border_style(GRID)
            .draw()?;
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale, lines: Vec<Line>) -> String {
        let chart = LineChart {
            title: "a title",
            x: Axis {
                label: "length, tokens",
                range: 10.0..1000.0,
                scale: Scale::Linear,
            },
            y: Axis {
                label: "time, ms",
                range: 0.5..100.0,
                scale,
            },
            lines,
            legend: SeriesLabelPosition::UpperLeft,
        };
        chart.to_svg().unwrap()
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
        let svg = chart(Scale::Linear, vec![line(Stroke::Dotted)]);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in ["a title", "length, tokens", "time, ms", "a line"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn a_dot_for_each_point_unless_the_line_is_thin() {
        let dots = |stroke| {
            let svg = chart(Scale::Linear, vec![line(stroke)]);
            svg.matches("<circle").count()
        };
        assert_eq!([Stroke::Thin, Stroke::Dotted].map(dots), [0, 3]);
        assert_eq!(dots(Stroke::Rings), 3 + 1, "one in the legend");
    }

    #[test]
    fn a_logarithmic_axis_has_equal_steps_for_equal_factors() {
        let axis = Axis {
            label: "n",
            range: 1.0..100.0,
            scale: Scale::Logarithmic(vec![1.0, 10.0, 1000.0]),
        };
        let coordinates = axis.coordinates();
        let places = [1.0, 10.0, 100.0].map(|value| coordinates.map(&value, (0, 200)));
        assert_eq!(places, [0, 100, 200]);
        assert_eq!(coordinates.marks, [1.0, 10.0], "1000 is off the axis");
        let texts = [32.0, 0.1 + 0.2, 20_000.0].map(|mark| mark_text(&mark));
        assert_eq!(texts, ["32", "0.3", "20,000"]);
    }
}
