//! How long the prompt takes with the cache and without: the part that the cache does not help.

use std::time::Instant;

use serde::Serialize;
use tang_engine::Decoder;
use tang_tokenizer::TokenId;

use crate::{LabError, LabModel, Spread, table::table};

/// Times of the prefill of one prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrefillTiming {
    /// Tokens of the prompt.
    pub prompt: usize,
    /// With the cache.
    pub cached: Spread,
    /// Without.
    pub uncached: Spread,
    /// Median with the cache over median without.
    pub ratio: f64,
}

/// Times the prefill of every prompt that fits, `runs` times after a warm-up.
pub(crate) fn prefill_timings(
    lab: &LabModel,
    prompts: &[usize],
    runs: usize,
) -> Result<Vec<PrefillTiming>, LabError> {
    prompts
        .iter()
        .filter(|prompt| **prompt <= lab.context())
        .map(|prompt| prefill_timing(lab, *prompt, runs))
        .collect()
}

fn prefill_timing(lab: &LabModel, prompt: usize, runs: usize) -> Result<PrefillTiming, LabError> {
    let task = lab.prompt(prompt)?;
    let (mut cached, mut uncached) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        let with = prefill_ms(&mut *lab.cached(), task.prompt())?;
        let without = prefill_ms(&mut *lab.uncached(), task.prompt())?;
        if run > 0 {
            cached.push(with);
            uncached.push(without);
        }
    }
    let (cached, uncached) = (Spread::of(cached), Spread::of(uncached));
    Ok(PrefillTiming {
        prompt,
        ratio: cached.median_ms / uncached.median_ms,
        cached,
        uncached,
    })
}

fn prefill_ms(decoder: &mut dyn Decoder, prompt: &[TokenId]) -> Result<f64, LabError> {
    let started = Instant::now();
    decoder.prefill(&[prompt])?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// The prefills as a table.
pub(crate) fn prefill_table(timings: &[PrefillTiming]) -> String {
    let rows = timings.iter().map(|timing| {
        [
            timing.prompt.to_string(),
            timing.cached.to_string(),
            timing.uncached.to_string(),
            format!("{:.2}", timing.ratio),
        ]
    });
    let header = [
        "tokens of the prompt",
        "prefill with the cache, ms",
        "without, ms",
        "with / without",
    ];
    table(header, rows)
}

#[cfg(test)]
mod tests {
    use tang_checkpoint::ModelConfig;

    use super::*;
    use crate::lab_model::tests::small;

    #[test]
    fn prompts_that_fit_are_timed() {
        let timings = prefill_timings(&small(ModelConfig::tang_4l), &[1, 48, 49], 2).unwrap();
        let prompts: Vec<_> = timings.iter().map(|timing| timing.prompt).collect();
        assert_eq!(prompts, [1, 48]);
        for timing in &timings {
            assert_eq!(
                timing.ratio,
                timing.cached.median_ms / timing.uncached.median_ms
            );
        }
        assert_eq!(prefill_table(&timings).lines().count(), 4);
    }
}
