//! The speed of decoding, compared with the speed of the memory.

pub(crate) mod programs;
pub(crate) mod timing;

use std::{ffi::OsString, fmt, fs, path::Path, process::Command};

use plotters::prelude::SeriesLabelPosition;
use serde::Serialize;

use crate::{
    Bytes, LabError, LabModel, ModelSummary, Provenance, Report, TorchScript,
    cache::image,
    page::{
        chart::{Axis, COLORS, Line, LineChart, Stroke, X, Y},
        count, table, times,
    },
};
use programs::{ColdStart, TorchPeer};
use timing::{DecodeTiming, decode_timing};

/// The picture of characters per second against texts at once.
const BATCH_FILE: &str = "batch.svg";

/// Counts of runs, characters and texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DecodePlan {
    /// Timed runs of each kind, after one to warm up.
    runs: usize,
    /// Timed starts of the whole program, after one to warm up.
    starts: usize,
    /// Characters of a text.
    characters: usize,
    /// Texts at once.
    batches: &'static [usize],
}

impl DecodePlan {
    /// Some ten seconds per model.
    pub const FULL: Self = Self { runs: 9, starts: 20, characters: 120, batches: &[1, 4, 16, 64] };

    /// Every measurement in a second or two; too short for reliable times.
    pub const QUICK: Self = Self { runs: 2, starts: 2, characters: 16, batches: &[1, 4] };
}

/// The measurements. They display themselves as a Markdown page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchDecode {
    provenance: Provenance,
    plan: DecodePlan,
    /// Bytes of the program.
    program_bytes: Bytes,
    models: Vec<ModelDecode>,
}

/// The measurements of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ModelDecode {
    name: String,
    summary: ModelSummary,
    timing: DecodeTiming,
    /// A whole run of the program that writes one poem.
    cold_start: ColdStart,
    /// The times of PyTorch, if a script was given.
    torch: Option<TorchPeer>,
}

/// A model, and the arguments with which the program writes a poem of it.
pub struct DecodeSubject {
    /// The model.
    pub lab: LabModel,
    /// Arguments of the program.
    pub poem: Vec<OsString>,
}

/// Measures every model; `program`, which is this one, for whole runs; and PyTorch, if a script is
/// given.
///
/// # Errors
///
/// [`LabError::Generate`] or [`LabError::Engine`] if generation fails, [`LabError::Program`] if a program does not
/// run.
pub fn bench_decode(
    subjects: &[DecodeSubject],
    program: &Path,
    torch: Option<&TorchScript>,
    plan: DecodePlan,
    provenance: Provenance,
) -> Result<BenchDecode, LabError> {
    let metadata = fs::metadata(program).map_err(|error| LabError::Program(error.to_string()))?;
    let models = subjects.iter().map(|DecodeSubject { lab, poem }| {
        lab.note("decoding");
        let timing = decode_timing(lab, &plan)?;
        lab.note("whole runs");
        let command = || {
            let mut command = Command::new(program);
            command.args(poem);
            command
        };
        let cold_start = ColdStart::measure(command, plan.starts)?;
        let peer = torch.map(|torch| {
            lab.note("PyTorch");
            torch.measure(lab.model.config(), plan.characters, plan.runs)
        });
        Ok(ModelDecode {
            name: lab.name.clone(),
            summary: ModelSummary::of(lab.model.config()),
            timing,
            cold_start,
            torch: peer.transpose()?,
        })
    });
    let models = models.collect::<Result<_, LabError>>()?;
    Ok(BenchDecode { provenance, plan, program_bytes: Bytes(metadata.len()), models })
}

impl Report for BenchDecode {
    fn plots(&self) -> Result<Vec<(String, String)>, LabError> {
        let line = |(model, color): (&ModelDecode, _)| {
            let batches = model.timing.batches.iter();
            Line {
                label: model.name.clone(),
                color,
                points: batches
                    .map(|batch| (batch.rows as f64, batch.characters_per_second))
                    .collect(),
                stroke: Stroke::Dotted,
            }
        };
        let colors = COLORS.into_iter().cycle();
        let lines: Vec<Line> = self.models.iter().zip(colors).map(line).collect();
        let rows = self.plan.batches.iter().map(|rows| *rows as f64).collect();
        let speed = "characters per second (logarithmic)";
        let chart = LineChart {
            title: "Characters per second, all texts together",
            x: Axis::logarithmic("texts at once (logarithmic)", &lines, X, 1.1, Some(rows)),
            y: Axis::logarithmic(speed, &lines, Y, 1.4, None),
            lines: &lines,
            legend: SeriesLabelPosition::UpperLeft,
        };
        Ok(vec![(BATCH_FILE.to_owned(), chart.svg()?)])
    }
}

const INTRODUCTION: &str = "\
To choose a token, a model reads every weight once, and computes little with each: the speed of the
memory bounds the speed of decoding. The floor below is that reading and nothing else: one vectorised
sum of as many numbers, read in eight places at once, timed in the same turns as the model, on the same
number of threads. The time of a token beyond it is attention, the other layers, and the draw.";

impl fmt::Display for BenchDecode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (runs, starts, characters) = (self.plan.runs, self.plan.starts, self.plan.characters);
        let (provenance, program) = (&self.provenance, self.program_bytes);
        write!(
            f,
            "# How fast decoding is\n\n{INTRODUCTION}\n\n{provenance}\n- program: {program}"
        )?;
        for model in &self.models {
            write!(f, "\n- {}: {}", model.name, model.summary)?;
        }
        write!(
            f,
            "\n\nMedian of {runs} runs after one to warm up, everything in turns (least-largest in \
            brackets).\n\n## One text\n\n{characters} characters from a newline, sampling included."
        )?;
        for model in &self.models {
            write!(f, "\n\n### {}\n\n{}", model.name, model.one_text(characters))?;
        }
        let plot = image("characters per second", BATCH_FILE);
        write!(f, "\n\n## Many texts at once\n\n{plot}")?;
        for model in &self.models {
            write!(f, "\n\n### {}\n\n{}", model.name, model.many_texts())?;
        }
        let whole_runs = self.models.iter().map(|ModelDecode { name, cold_start, .. }| {
            let peak = cold_start.peak_bytes;
            let peak = peak.map_or("unknown".to_owned(), |bytes| bytes.to_string());
            format!("{name} | {} | {peak}", cold_start.time)
        });
        write!(
            f,
            "\n\n## A whole run\n\n`tang acrostic` as a process of its own, {starts} times.\n\n{}",
            table(":model | start to end, ms | most memory", whole_runs)
        )
    }
}

impl ModelDecode {
    fn one_text(&self, characters: usize) -> String {
        let timing = &self.timing;
        let per_token = |ms: f64| ms / characters as f64;
        let cached = timing.threads.iter().map(|row| {
            let (threads, time, floor, ratio) = (row.threads, row.cached, row.floor, row.ratio);
            let token = per_token(time.median_ms);
            format!(
                "with the cache, threads: {threads} | {time} | {token:.3} | {floor} | {ratio:.2}"
            )
        });
        let uncached = timing.uncached;
        let token = per_token(uncached.median_ms);
        let uncached = format!("without | {uncached} | {token:.3} | - | -");
        let torch =
            self.torch.iter().flat_map(|TorchPeer { torch, threads, cached_ms, uncached_ms }| {
                [("with a cache", cached_ms), ("without", uncached_ms)].map(|(way, ms)| {
                    let token = per_token(*ms);
                    format!(
                        "PyTorch {torch} {way}, threads: {threads} | {ms:.1} | {token:.3} | - | -"
                    )
                })
            });
        let header = ": | text, ms | token, ms | floor, ms | token / floor";
        format!(
            "{} of weights per token.\n\n{}",
            timing.bytes_per_token,
            table(header, cached.chain([uncached]).chain(torch))
        )
    }

    fn many_texts(&self) -> String {
        let batches = &self.timing.batches;
        let rows = batches.iter().map(|batch| {
            let (rows, time, speed) = (batch.rows, batch.time, batch.characters_per_second);
            let of_first = times(speed / batches[0].characters_per_second);
            format!("{rows} | {time} | {} | {of_first}", count(speed.round() as usize))
        });
        table("texts | all, ms | characters per second | of one text's", rows)
    }
}
