//! How near decoding comes to the speed of the memory.

use std::{ffi::OsString, fmt, fs, path::Path, process::Command};

use plotters::prelude::SeriesLabelPosition;
use serde::Serialize;

use crate::{
    Bytes, ColdStart, DecodeTiming, LabError, LabModel, ModelSummary, Provenance, TorchPeer,
    TorchScript,
    cold_start::cold_start,
    decode_timing::decode_timing,
    line_chart::{Axis, BLUE, GREEN, Line, LineChart, PURPLE, Scale, Stroke, VERMILION},
    table::{table, thousands, times},
};

/// The picture of characters a second against texts at once.
const BATCH_FILE: &str = "batch.svg";

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DecodePlan {
    /// Timed runs of each kind, after one to warm up.
    pub runs: usize,
    /// Timed starts of the whole program, after one to warm up.
    pub starts: usize,
    /// Characters of a text.
    pub characters: usize,
    /// Texts at once.
    pub batches: &'static [usize],
}

impl DecodePlan {
    /// Some ten seconds a model.
    pub const FULL: Self = Self {
        runs: 9,
        starts: 20,
        characters: 120,
        batches: &[1, 4, 16, 64],
    };

    /// Every measurement, in a second or two; its times say little.
    pub const QUICK: Self = Self {
        runs: 2,
        starts: 2,
        characters: 16,
        batches: &[1, 4],
    };
}

/// The measurements. They display themselves as a Markdown page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchDecode {
    /// Which program, where.
    pub provenance: Provenance,
    /// How much was measured.
    pub plan: DecodePlan,
    /// Bytes of the program.
    pub program_bytes: u64,
    /// One entry a model.
    pub models: Vec<ModelDecode>,
}

/// The measurements of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelDecode {
    /// What reports call it.
    pub name: String,
    /// Its geometry.
    pub summary: ModelSummary,
    /// Decoding.
    pub timing: DecodeTiming,
    /// A whole run of the program that writes one poem.
    pub cold_start: ColdStart,
    /// PyTorch, where it was there.
    pub torch: Option<TorchPeer>,
}

/// A model, and how the program writes a poem of it.
pub struct DecodeSubject {
    /// The model.
    pub lab: LabModel,
    /// Arguments of the program.
    pub poem: Vec<OsString>,
}

/// Measures every model; `program`, which is this one, for whole runs; and PyTorch, if there is a
/// script to do so.
///
/// # Errors
///
/// If generation fails, or the program does not run.
pub fn bench_decode(
    subjects: &[DecodeSubject],
    program: &Path,
    torch: Option<&TorchScript>,
    plan: DecodePlan,
    provenance: Provenance,
    on_progress: &mut dyn FnMut(&str),
) -> Result<BenchDecode, LabError> {
    let program_bytes = fs::metadata(program).map_err(|error| LabError::Program {
        reason: error.to_string(),
    })?;
    let mut measure = |subject: &DecodeSubject| {
        let lab = &subject.lab;
        on_progress(&format!("{}: decoding", lab.name));
        let timing = decode_timing(lab, &plan)?;
        on_progress(&format!("{}: whole runs", lab.name));
        let command = || {
            let mut command = Command::new(program);
            command.args(&subject.poem);
            command
        };
        let cold_start = cold_start(command, plan.starts)?;
        let peer = |torch: &TorchScript| {
            on_progress(&format!("{}: PyTorch", lab.name));
            torch.measure(lab.model.config(), plan.characters, plan.runs)
        };
        let torch = torch.map(peer).transpose()?;
        Ok(ModelDecode {
            name: lab.name.clone(),
            summary: ModelSummary::of(lab.model.config()),
            timing,
            cold_start,
            torch,
        })
    };
    Ok(BenchDecode {
        provenance,
        plan,
        program_bytes: program_bytes.len(),
        models: subjects
            .iter()
            .map(&mut measure)
            .collect::<Result<_, LabError>>()?,
    })
}

impl BenchDecode {
    /// The pictures that the page shows: names of files, and SVG.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] if one cannot be drawn.
    pub fn plots(&self) -> Result<Vec<(String, String)>, LabError> {
        let colors = [BLUE, VERMILION, GREEN, PURPLE].into_iter().cycle();
        let points = |model: &ModelDecode| {
            let batches = model.timing.batches.iter();
            batches
                .map(|batch| (batch.rows as f64, batch.characters_per_second))
                .collect()
        };
        let lines: Vec<Line> = self
            .models
            .iter()
            .zip(colors)
            .map(|(model, color)| Line {
                label: model.name.clone(),
                color,
                points: points(model),
                stroke: Stroke::Dotted,
            })
            .collect();
        let speeds = || {
            lines
                .iter()
                .flat_map(|line| &line.points)
                .map(|point| point.1)
        };
        let (low, high) = (
            speeds().fold(f64::INFINITY, f64::min),
            speeds().fold(0.0, f64::max),
        );
        let rows: Vec<f64> = self.plan.batches.iter().map(|rows| *rows as f64).collect();
        let last = rows.iter().copied().fold(1.0, f64::max);
        let chart = LineChart {
            title: "Characters a second, all texts together",
            x: Axis {
                label: "texts at once (logarithmic)",
                range: 0.9..1.1 * last,
                scale: Scale::Logarithmic(rows),
            },
            y: Axis {
                label: "characters a second (logarithmic)",
                range: low / 1.4..1.4 * high,
                scale: Scale::Logarithmic(
                    (0..8)
                        .flat_map(|power| [1.0, 2.0, 5.0].map(|d| d * 10.0_f64.powi(power)))
                        .collect(),
                ),
            },
            lines,
            legend: SeriesLabelPosition::UpperLeft,
        };
        Ok(vec![(BATCH_FILE.to_owned(), chart.to_svg()?)])
    }
}

const INTRODUCTION: &str = "\
To choose a token, a model reads every weight once, and computes little with each: the speed of the
memory bounds the speed of decoding. The floor below is that reading and nothing else: one vectorised
sum of as many numbers, read in eight places at once, timed in the same turns as the model, on the same
number of threads. What a token takes beyond it is attention, the other layers, and the draw.";

impl fmt::Display for BenchDecode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecodePlan {
            runs,
            starts,
            characters,
            ..
        } = self.plan;
        write!(
            f,
            "# How fast decoding is\n\n{INTRODUCTION}\n\n{}",
            self.provenance
        )?;
        write!(f, "\n- program: {}", Bytes(self.program_bytes))?;
        for model in &self.models {
            write!(f, "\n- {}: {}", model.name, model.summary)?;
        }
        write!(
            f,
            "\n\nMedian of {runs} runs after one to warm up, everything in turns (least-largest in brackets)."
        )?;
        write!(
            f,
            "\n\n## One text\n\n{characters} characters from a newline, sampling included."
        )?;
        for model in &self.models {
            write!(
                f,
                "\n\n### {}\n\n{}",
                model.name,
                model.one_text(characters)
            )?;
        }
        write!(
            f,
            "\n\n## Many texts at once\n\n![characters a second](<{BATCH_FILE}>)"
        )?;
        for model in &self.models {
            write!(f, "\n\n### {}\n\n{}", model.name, model.many_texts())?;
        }
        write!(
            f,
            "\n\n## A whole run\n\n`tang acrostic` as a process of its own, {starts} times.\n\n{}",
            self.whole_runs()
        )
    }
}

impl BenchDecode {
    fn whole_runs(&self) -> String {
        let rows = self.models.iter().map(|model| {
            let peak = model.cold_start.peak_bytes;
            [
                model.name.clone(),
                model.cold_start.time.to_string(),
                peak.map_or("unknown".to_owned(), |bytes| bytes.to_string()),
            ]
        });
        table(["model", "start to end, ms", "most memory"], rows)
    }
}

impl ModelDecode {
    fn one_text(&self, characters: usize) -> String {
        let timing = &self.timing;
        let per_token = |ms: f64| format!("{:.3}", ms / characters as f64);
        let mut rows: Vec<[String; 5]> = timing
            .threads
            .iter()
            .map(|row| {
                [
                    format!("with the cache, threads: {}", row.threads),
                    row.cached.to_string(),
                    per_token(row.cached.median_ms),
                    row.floor.to_string(),
                    format!("{:.2}", row.ratio),
                ]
            })
            .collect();
        let mut other = |name: String, text: String, ms: f64| {
            let none = || "-".to_owned();
            rows.push([name, text, per_token(ms), none(), none()]);
        };
        let uncached = timing.uncached;
        other(
            "without".to_owned(),
            uncached.to_string(),
            uncached.median_ms,
        );
        if let Some(torch) = &self.torch {
            let name = |kind| format!("PyTorch {} {kind}, threads: {}", torch.torch, torch.threads);
            for (kind, ms) in [
                ("with a cache", torch.cached_ms),
                ("without", torch.uncached_ms),
            ] {
                other(name(kind), format!("{ms:.1}"), ms);
            }
        }
        let header = ["", "text, ms", "token, ms", "floor, ms", "token / floor"];
        format!(
            "{} of weights a token.\n\n{}",
            Bytes(timing.bytes_per_token as u64),
            table(header, rows)
        )
    }

    fn many_texts(&self) -> String {
        let batches = &self.timing.batches;
        let first = batches.first().map_or(1.0, |one| one.characters_per_second);
        let rows = batches.iter().map(|batch| {
            [
                batch.rows.to_string(),
                batch.time.to_string(),
                thousands(batch.characters_per_second.round() as u64),
                times(batch.characters_per_second / first),
            ]
        });
        table(
            ["texts", "all, ms", "characters a second", "of one text's"],
            rows,
        )
    }
}
