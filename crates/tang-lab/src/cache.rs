//! Measurements of the cache: proofs first, then times, on a page that explains how the cache
//! works.

mod batch;
pub(crate) mod cases;
mod comparison;
pub(crate) mod counting;
mod memory;
mod paths;
mod plots;
mod prompts;
mod sampling;
mod timing;

use std::{fmt, path::Path};

use serde::Serialize;

use crate::{
    LabError, LabModel, ModelSummary, Provenance, Report, page::check_page, subject::Machine,
};
use batch::{BatchExactness, batch_exactness};
use cases::samples;
use comparison::{Exactness, exactness};
use counting::{Counting, counting};
use memory::{CacheMemory, cache_memory};
use paths::{CachePaths, FreshRuns, cache_paths, fresh_runs};
use plots::{SPEED_UP_FILE, memory_file, time_file};
use prompts::{PrefixReuse, prefill_table, prefix_reuse};
use sampling::{SamplingLab, sampling_lab};
use timing::{LengthSeries, Timing, length_series, timing};

/// Counts of cases and runs, and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BenchPlan {
    /// Poems to generate with the cache and without.
    pub cases: usize,
    /// Poems to generate in one batch and one at a time.
    pub batch: usize,
    /// Free poems under each setting of the sampler, at least 1.
    pub samples: usize,
    /// Timed runs of each kind, after one to warm up.
    pub runs: usize,
    /// Characters to time on the trained model, at least 2 each.
    pub lengths: &'static [usize],
    /// Characters to time on random weights.
    pub long_lengths: &'static [usize],
    /// Tokens of the prompts to time.
    pub prompts: &'static [usize],
}

impl BenchPlan {
    /// Everything: some minutes per model.
    pub const FULL: Self = Self {
        cases: 1000,
        batch: 64,
        samples: 30,
        runs: 7,
        lengths: &[8, 32, 64, 120],
        long_lengths: &[32, 64, 120, 250, 500],
        prompts: &[16, 64, 128],
    };

    /// Every measurement in a few seconds; too short for reliable times.
    pub const QUICK: Self = Self {
        cases: 24,
        batch: 16,
        samples: 6,
        runs: 3,
        lengths: &[8, 32],
        long_lengths: &[32, 64],
        prompts: &[16, 64],
    };
}

/// The measurements of one run, displayed as a Markdown page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchCache {
    provenance: Provenance,
    plan: BenchPlan,
    models: Vec<ModelBench>,
}

/// The measurements of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ModelBench {
    name: String,
    summary: ModelSummary,
    #[serde(flatten)]
    proof: Proof,
    timing: Timing,
    prefix: PrefixReuse,
    sampling: SamplingLab,
}

/// The measurements without times, which come before the timed ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Proof {
    /// Tokens with the cache and without.
    exactness: Exactness,
    /// Logits by every way to fill the cache.
    paths: CachePaths,
    /// Poems in a batch and alone.
    batch: BatchExactness,
    /// Runs with a decoder that was used before, and the end of the context.
    fresh: FreshRuns,
    counting: Counting,
    bytes: CacheMemory,
}

/// Measures every model of `labs`. Times are measured only once exactness, token counts and memory
/// are right on all models.
///
/// # Errors
///
/// [`LabError::Logits`], [`LabError::Tokens`], [`LabError::Count`], [`LabError::TimedTexts`] or
/// [`LabError::Wrong`] at the first claim that does not hold; [`LabError::Input`] if a model can write none of
/// the poems; [`LabError::Generate`] or [`LabError::Engine`] if generation fails.
pub fn bench_cache(
    labs: &[LabModel],
    plan: BenchPlan,
    provenance: Provenance,
) -> Result<BenchCache, LabError> {
    let proofs = labs.iter().map(|lab| Proof::of(lab, &plan));
    let proofs = proofs.collect::<Result<Vec<_>, _>>()?;
    let models = labs.iter().zip(proofs).map(|(lab, proof)| {
        let timing = timing(lab, &plan)?;
        lab.note("timing a common prefix");
        let prefix = prefix_reuse(lab, plan.runs)?;
        Ok(ModelBench {
            name: lab.name.clone(),
            summary: ModelSummary::of(lab.model.config()),
            proof,
            timing,
            prefix,
            sampling: sampling_lab(lab, plan.samples)?,
        })
    });
    let models = models.collect::<Result<_, LabError>>()?;
    Ok(BenchCache { provenance, plan, models })
}

impl Proof {
    fn of(lab: &LabModel, plan: &BenchPlan) -> Result<Self, LabError> {
        lab.note("cache exactness: every length");
        let paths = cache_paths(lab)?;
        let exactness = exactness(lab, plan.cases)?;
        lab.note("cache exactness: batches and repeated runs");
        let batch = batch_exactness(lab, plan.batch)?;
        let fresh = fresh_runs(lab)?;
        lab.note("counting tokens and bytes");
        let (counting, bytes) = (counting(lab)?, cache_memory(lab)?);
        Ok(Self { exactness, paths, batch, fresh, counting, bytes })
    }
}

impl Report for BenchCache {
    fn plots(&self) -> Result<Vec<(String, String)>, LabError> {
        plots::plots(&self.models)
    }
}

const INTRODUCTION: &str = "\
A Transformer writes one token at a time, and each new token attends to all earlier ones through
two vectors per earlier token, a key and a value. Without a cache, every step computes all of them again;
with it, a step computes those of the new token and finds the others in memory. This page shows that
the cache changes no result, how much work and time it saves, its cost in memory, and where it
does not help. Everything here was counted or timed by the program that wrote it.";

const QUICK: &str = "\
This was a quick run: few cases, short texts, and times that say little.";

const EXACTNESS: &str = "\
Poems of every kind and setting are written twice, with the cache and without, and compared token by
token. Then the scores of all tokens (logits) are compared at every length, then poems in a batch with
the same ones alone, then runs after other runs. Had one token differed, or one logit by more than is
allowed, there would be no page: on the CPU the bits are the same, on a GPU sums may be rounded
differently. A tie would be a first difference that rounding can make: of two tokens too close in the draw,
or of one too close to the end of top-k or top-p.";

const COUNTING: &str = "\
The decoders count the tokens that they send through the model. For a prompt of P tokens and N new
ones, the cache needs the prompt once and each new token once, but for the last, to which no token
attends. Without it, step i (from 1) sends P + i - 1 tokens. All counts agree with the formulas.";

const BYTES: &str = "\
The price is memory: 2 (a key and a value) x layers x tokens x key/value heads x width of a head x 4
bytes, read here from caches after texts of different lengths. Memory is set aside for the longest text
expected, in blocks of 16 tokens and up to 128 at once; a longer text moves when it has filled that, to
twice as much.";

const SHARING: &str = "\
Where h query heads share g key/value heads, the cache is h/g times smaller. Multi-head attention
(MHA) shares none, grouped-query attention (GQA) in groups, multi-query attention (MQA) has one for
all. Measured on networks with the layers and heads of the model, and random weights.";

const TIMING: &str = "\
Times of whole texts from a prompt of one newline, sampling included. The cache saves the second
pass over each character, and a longer text has more of them: the speed-up grows with it.
Random weights write nonsense in the same time, and have positions for longer texts.";

const GROWTH: &str = "\
The growth of a figure is the exponent k of c n^k, fitted by least squares on the logarithms: at 1, twice
the length takes twice as much, at 2 four times. The counted tokens tend to 1 with the cache and to 2
without. Times follow them, lower in short texts, since every step has a cost that no length changes,
and higher in long ones, since attention compares each token with all before it.";

const TOKENS: &str = "\
The first token is the prefill, here of one newline. With the cache, a token late in the text takes
longer only because its attention has more to read; without, all earlier tokens go through the model once
more.";

const LIMITS: &str = "\
The prompt goes through the model once with the cache and once without, so the prefill takes the same
time, but for setting the memory aside. A long prompt with a short answer is mostly prefill. Short
texts gain little, too: see the first rows of the tables above.";

const PREFIX: &str = "\
Where many requests begin alike, the keys and values of the common part can be kept: a token never
changes those of earlier ones. Each request then pays for the rest of its prompt only.";

const SAMPLING: &str = "\
The cache has no part in this: the way the next token is drawn from the model's distribution decides
whether poems are all alike, sound, or broken.";

impl fmt::Display for BenchCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "# What the key/value cache does\n\n{INTRODUCTION}")?;
        if self.plan == BenchPlan::QUICK {
            write!(f, "\n\n{QUICK}")?;
        }
        write!(f, "\n\n{}", self.provenance)?;
        for model in &self.models {
            write!(f, "\n- {}: {}", model.name, model.summary)?;
        }
        let mut section = |title: &str, explanation: &str, part: &dyn Fn(&ModelBench) -> String| {
            write!(f, "\n\n## {title}\n\n{explanation}")?;
            let mut models = self.models.iter();
            models.try_for_each(|model| write!(f, "\n\n### {}\n\n{}", model.name, part(model)))
        };
        section("It changes no result", EXACTNESS, &|model| {
            let own = &model.proof;
            let (poems, paths) = (&own.exactness, &own.paths);
            format!("- {poems}\n- {paths}\n- {}\n- {}", own.batch, own.fresh)
        })?;
        section("It saves work", COUNTING, &|model| model.proof.counting.to_string())?;
        section("It takes memory", BYTES, &|model| model.proof.bytes.to_string())?;
        section("Shared heads take less", SHARING, &|model| {
            let plot = image("memory against length", &memory_file(&model.name));
            format!("{}\n\n{plot}", model.proof.bytes.sharing_table())
        })?;
        let times = format!("{TIMING}\n{}", runs(self.plan.runs));
        section("It saves time", &times, &|model| {
            let plot = image("time against length", &time_file(&model.name));
            format!("{}\n\n{plot}", each_series(model, LengthSeries::totals))
        })?;
        let growth = format!("{GROWTH}\n\n{}", image("speed-up against length", SPEED_UP_FILE));
        section("How it grows", &growth, &|model| {
            let series = &model.timing.long;
            format!("{}:\n\n{}", series.subject, series.exponents())
        })?;
        section("The first token and the later ones", TOKENS, &|model| {
            each_series(model, LengthSeries::tokens)
        })?;
        section("What it does not help", LIMITS, &|model| prefill_table(&model.timing.prefill))?;
        section("A common prefix is paid for once", PREFIX, &|model| model.prefix.to_string())?;
        section("What sampling does", SAMPLING, &|model| model.sampling.to_string())
    }
}

/// A sentence for the page: how the times are measured.
fn runs(runs: usize) -> String {
    format!(
        "Median of {runs} runs after one to warm up, with and without in turns (least-largest in brackets)."
    )
}

/// The tables of both series of a model, each after the name of the network that it was measured
/// on.
fn each_series(model: &ModelBench, table: fn(&LengthSeries) -> String) -> String {
    let titled = |series: &LengthSeries| format!("{}:\n\n{}", series.subject, table(series));
    format!("{}\n\n{}", titled(&model.timing.trained), titled(&model.timing.long))
}

/// An image in the folder of the page; the brackets are for names with spaces.
pub(crate) fn image(text: &str, file: &str) -> String {
    format!("![{text}](<{file}>)")
}

/// The heading by which a page of [`report`] is known.
const SECTION: &str = "## The cache changes no result";

/// Checks that a `report.md` is missing, or is one of [`report`].
///
/// # Errors
///
/// [`LabError::Exists`] if it is another one, [`LabError::File`] if it cannot be read.
pub fn check_report(path: &Path) -> Result<(), LabError> {
    check_page(path, SECTION)
}

/// The suite on one model as Markdown: cache exactness, times, and samples. `quick` compares fewer
/// poems and times shorter texts.
///
/// # Errors
///
/// Those of [`bench_cache`](crate::bench_cache).
pub fn report(lab: &LabModel, quick: bool) -> Result<String, LabError> {
    let full = BenchPlan { cases: 200, ..BenchPlan::FULL };
    let plan = if quick { BenchPlan::QUICK } else { full };
    lab.note("cache exactness: every length");
    let paths = cache_paths(lab)?;
    let exactness = exactness(lab, plan.cases)?;
    let memory = cache_memory(lab)?.formula();
    let series = length_series(lab, lab.subject(), plan.lengths, plan.runs)?;
    lab.note("samples");
    let samples = samples(lab)?;
    let summary = ModelSummary::of(lab.model.config());
    let (machine, runs) = (Machine::this(), runs(plan.runs));
    let (name, totals, tokens) = (&lab.name, series.totals(), series.tokens());
    Ok(format!(
        "# {name}

{summary}.

{SECTION}

{paths}

{exactness}

## The cache saves time

From a prompt of one newline, sampling included; {machine}. {runs}

{totals}

{tokens}

The cache takes {memory}.

## Samples

Seeds are counted from 0 in each list. In brackets: how surprising the model alone finds the poem.
{samples}"
    ))
}

#[cfg(test)]
mod fake_decoder;
#[cfg(test)]
pub(crate) mod tests;
