//! How long generation takes with the cache and without.

use std::{fmt, time::Instant};

use serde::Serialize;
use tang_generate::{
    CachedDecoder, Decoder, FullDecoder, GenerationConfig, Generator, Sequence, Task,
};
use tang_tokenizer::TokenId;

use crate::{Exactness, LabError, LabModel, Machine, Spread, exactness};

/// Characters to generate; a run goes on past the end of a poem.
const LENGTHS: [usize; 3] = [32, 64, 120];
/// Timed runs of each kind, after one that is not timed.
const RUNS: usize = 7;

/// Exactness first, then times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchCache {
    /// The model that was measured.
    pub model: String,
    /// Where.
    pub machine: Machine,
    /// The comparison that had to pass before any time was taken.
    pub exactness: Exactness,
    /// Layers of the model.
    pub layers: usize,
    /// Key/value heads of the model.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Bytes of keys and values a token.
    pub cache_bytes_per_token: usize,
    /// One entry a length.
    pub timings: Vec<LengthTiming>,
}

/// Times for one number of characters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LengthTiming {
    /// Characters generated, from a prompt of one newline.
    pub characters: usize,
    /// With the cache.
    pub cached: RunsTiming,
    /// Without.
    pub uncached: RunsTiming,
    /// Median without the cache over median with it.
    pub speed_up: f64,
}

/// Times of one way to generate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunsTiming {
    /// The whole generation.
    pub total: Spread,
    /// Until the first token: the prefill.
    pub time_to_first_token: Spread,
    /// Tokens that went through the model.
    pub forwarded_tokens: usize,
}

/// Measures `lab`. `quick` compares fewer poems first.
///
/// # Errors
///
/// If the cache is not exact; no time is taken then.
pub fn bench_cache(
    lab: &LabModel,
    quick: bool,
    on_progress: &mut dyn FnMut(&str),
) -> Result<BenchCache, LabError> {
    let exactness = exactness(lab, if quick { 24 } else { 200 }, on_progress)?;
    let lengths = LENGTHS.into_iter().filter(|n| *n <= lab.context());
    let timings = lengths
        .map(|characters| {
            on_progress(&format!("timing {characters} characters"));
            time_length(lab, characters)
        })
        .collect::<Result<_, _>>()?;
    let config = lab.model.config();
    Ok(BenchCache {
        model: lab.name.clone(),
        machine: Machine::this(),
        exactness,
        layers: config.layers,
        kv_heads: config.kv_heads,
        head_dim: config.head_dim(),
        cache_bytes_per_token: config.cache_bytes_per_token(),
        timings,
    })
}

fn time_length(lab: &LabModel, characters: usize) -> Result<LengthTiming, LabError> {
    let mut cached = Runs::default();
    let mut uncached = Runs::default();
    for run in 0..=RUNS {
        // Interleaved, so that a slower minute of the machine meets both.
        let with = cached.run(lab, CachedDecoder::new(&lab.model), characters)?;
        let without = uncached.run(lab, FullDecoder::new(&lab.model), characters)?;
        if let Some(step) = (0..with.len()).find(|i| with[*i] != without[*i]) {
            return Err(LabError::TimedTexts {
                characters,
                run,
                step,
            });
        }
    }
    let (cached, uncached) = (cached.timing(), uncached.timing());
    Ok(LengthTiming {
        characters,
        speed_up: uncached.total.median_ms / cached.total.median_ms,
        cached,
        uncached,
    })
}

/// The runs of one way to generate.
#[derive(Default)]
struct Runs {
    totals: Vec<f64>,
    firsts: Vec<f64>,
    forwarded: usize,
}

impl Runs {
    fn run(
        &mut self,
        lab: &LabModel,
        mut decoder: impl Decoder,
        characters: usize,
    ) -> Result<Vec<TokenId>, LabError> {
        let config = GenerationConfig {
            max_new_tokens: characters,
            stop_at_end: false,
            ..GenerationConfig::default()
        };
        let started = Instant::now();
        let mut generator = Generator::new(&mut decoder, Task::open(), &config, lab.context())?;
        generator.next().transpose()?;
        let first = started.elapsed();
        let sequence: Sequence = generator.finish()?;
        let total = started.elapsed();
        self.totals.push(total.as_secs_f64() * 1e3);
        self.firsts.push(first.as_secs_f64() * 1e3);
        self.forwarded = decoder.forwarded_tokens();
        Ok(sequence.generated().to_vec())
    }

    /// The spread of all runs but the first, which warmed up.
    fn timing(self) -> RunsTiming {
        RunsTiming {
            total: Spread::of(self.totals[1..].to_vec()),
            time_to_first_token: Spread::of(self.firsts[1..].to_vec()),
            forwarded_tokens: self.forwarded,
        }
    }
}

impl fmt::Display for BenchCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.exactness)?;
        writeln!(
            f,
            "\nMedian of {RUNS} interleaved runs after one to warm up (least-largest in brackets), sampling included; {}.\n",
            self.machine
        )?;
        writeln!(
            f,
            "| characters | ms with the cache | ms without | speed-up | ms to the first token with | without | tokens through the model with | without |"
        )?;
        writeln!(f, "|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        for row in &self.timings {
            writeln!(
                f,
                "| {} | {} | {} | {:.1}x | {} | {} | {} | {} |",
                row.characters,
                row.cached.total,
                row.uncached.total,
                row.speed_up,
                row.cached.time_to_first_token,
                row.uncached.time_to_first_token,
                row.cached.forwarded_tokens,
                row.uncached.forwarded_tokens,
            )?;
        }
        write!(
            f,
            "\nThe cache takes {} bytes a token (2 x {} layers x {} key/value heads x {} wide x 4). The first token takes a little longer with it, since that memory is set aside first.",
            self.cache_bytes_per_token, self.layers, self.kv_heads, self.head_dim
        )
    }
}
