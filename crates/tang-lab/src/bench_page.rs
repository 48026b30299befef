//! The measurements of the laboratory as one page for a reader who learns how the cache works.

use std::fmt;

use crate::{
    BenchCache, BenchPlan, LengthSeries, ModelBench,
    bench_plots::{SPEED_UP_FILE, bytes_file, time_file},
    prefill_timing::prefill_table,
};

const INTRODUCTION: &str = "\
A Transformer writes one token at a time, and each new token looks back at all earlier ones through
two vectors of theirs, a key and a value. Without a cache, every step computes all of them again;
with it, a step computes those of the new token and finds the others in memory. This page shows that
the cache changes no result, how much work and time it saves, what it costs in memory, and where it
does not help. Everything here was counted or timed by the program that wrote it.";

const QUICK: &str = "\
This was a quick run: few cases, short texts, and times that say little.";

const EXACTNESS: &str = "\
Poems of every kind and setting are written twice, with the cache and without, and compared token by
token. Then the scores of all tokens (logits) are compared at every length, then poems in a batch with
the same ones alone, then runs after other runs. Had one token differed, or one logit by more than
rounding, there would be no page. A tie would be a first difference that
rounding can make: of two tokens too close in the draw, or of one too close to the end of top-k or top-p.";

const COUNTING: &str = "\
The decoders count the tokens that they send through the model. For a prompt of P tokens and N new
ones, the cache needs the prompt once and each new token once, but for the last, which nobody looks
back at. Without it, step i (from 1) sends P + i - 1 tokens. All counts are what the formulas say.";

const BYTES: &str = "\
The price is memory: 2 (a key and a value) x layers x tokens x key/value heads x width of a head x 4
bytes, read here from caches after texts of different lengths. Memory is set aside for what a text can
have, in blocks of 16 tokens and up to 128 at once; a longer text moves when it has filled that, to twice as
much.";

const SHARING: &str = "\
Where h query heads share g key/value heads, the cache is h/g times smaller. Multi-head attention
(MHA) shares none, grouped-query attention (GQA) in groups, multi-query attention (MQA) has one for
all. Measured on networks with the layers and heads of the model, and random weights.";

const TIMING: &str = "\
Times of whole texts from a prompt of one newline, sampling included. What is saved is the second
look at each character, and a longer text has more to look at again: the speed-up grows with it.
Random weights write nonsense in the same time, and have positions for longer texts.";

const GROWTH: &str = "\
How a figure grows is the exponent k of c n^k, fitted by least squares on the logarithms: at 1, twice
the length takes twice as much, at 2 four times. The counted tokens tend to 1 with the cache and to 2
without. Times follow them, lower in short texts, since every step has a cost that no length changes,
and higher in long ones, since attention compares each token with all before it.";

const TOKENS: &str = "\
The first token is the prefill, here of one newline. With the cache, a token late in the text takes
only as much longer as its attention has more to look at; without, all that stands before it goes
through the model once more.";

const LIMITS: &str = "\
The prompt goes through the model once with the cache and once without, so the prefill takes the same
time, but for setting the memory aside. A long prompt with a short answer is mostly prefill. Short
texts gain little, too: see the first rows of the tables above.";

const PREFIX: &str = "\
Where many requests begin alike, the keys and values of the common part can be kept: what follows a
token never changes its own. Each request then pays for the rest of its prompt only.";

const SAMPLING: &str = "\
The cache has no part in this: how the next token is drawn from the model's distribution decides
whether poems are all alike, sound, or broken.";

impl BenchCache {
    /// A heading, an explanation, and the part of each model.
    fn section(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        explanation: &str,
        part: impl Fn(&ModelBench) -> String,
    ) -> fmt::Result {
        write!(f, "\n\n## {title}\n\n{explanation}")?;
        for model in &self.models {
            write!(f, "\n\n### {}\n\n{}", model.name, part(model))?;
        }
        Ok(())
    }

    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "# What the key/value cache does\n\n{INTRODUCTION}")?;
        if self.plan == BenchPlan::QUICK {
            write!(f, "\n\n{QUICK}")?;
        }
        write!(f, "\n\n{}", self.provenance)?;
        for model in &self.models {
            write!(f, "\n- {}: {}", model.name, model.summary)?;
        }
        Ok(())
    }
}

impl fmt::Display for BenchCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        self.section(f, "It changes no result", EXACTNESS, |model| {
            let ModelBench {
                exactness,
                paths,
                batch,
                fresh,
                ..
            } = model;
            format!("- {exactness}\n- {paths}\n- {batch}\n- {fresh}")
        })?;
        self.section(f, "It saves work", COUNTING, |model| {
            model.counting.to_string()
        })?;
        self.section(f, "It takes memory", BYTES, |model| model.bytes.to_string())?;
        self.section(f, "Shared heads take less", SHARING, |model| {
            let plot = image("memory against length", &bytes_file(&model.name));
            format!("{}\n\n{plot}", model.bytes.sharing_table())
        })?;
        let runs = runs(self.plan.runs);
        self.section(f, "It saves time", &format!("{TIMING}\n{runs}"), |model| {
            let plot = image("time against length", &time_file(&model.name));
            format!("{}\n\n{plot}", each_series(model, LengthSeries::totals))
        })?;
        let plot = image("speed-up against length", SPEED_UP_FILE);
        let explanation = format!("{GROWTH}\n\n{plot}");
        self.section(f, "How it grows", &explanation, |model| {
            let series = &model.timing.long;
            format!(
                "{}:

{}",
                series.subject,
                series.exponents()
            )
        })?;
        self.section(f, "The first token and the later ones", TOKENS, |model| {
            each_series(model, LengthSeries::tokens)
        })?;
        self.section(f, "What it does not help", LIMITS, |model| {
            prefill_table(&model.timing.prefill)
        })?;
        self.section(f, "A common prefix is paid for once", PREFIX, |model| {
            model.prefix.to_string()
        })?;
        self.section(f, "What sampling does", SAMPLING, |model| {
            model.sampling.to_string()
        })
    }
}

/// How the times of this crate are taken.
pub(crate) fn runs(runs: usize) -> String {
    format!(
        "Median of {runs} runs after one to warm up, with and without in turns (least-largest in brackets)."
    )
}

/// The tables of both series of a model, each under the network that it was measured on.
fn each_series(model: &ModelBench, table: impl Fn(&LengthSeries) -> String) -> String {
    let titled = |series: &LengthSeries| format!("{}:\n\n{}", series.subject, table(series));
    let timing = &model.timing;
    format!("{}\n\n{}", titled(&timing.trained), titled(&timing.long))
}

/// An image of the folder that the page lies in; the brackets are for names with spaces.
fn image(text: &str, file: &str) -> String {
    format!("![{text}](<{file}>)")
}
