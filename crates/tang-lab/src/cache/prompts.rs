//! The cost of prompts: the prefill, which the cache does not speed up, and a common prefix, which
//! it saves.

use std::fmt;

use serde::Serialize;
use tang_generate::{GenerateError, Task};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    cache::{
        cases::{TestCase, endless, seeded},
        comparison::{Exactness, Other},
        counting::Way,
        paths::text_of_whole_context,
    },
    page::{table, times},
    stats::{Spread, after_warm_up, milliseconds},
};

/// Requests with the same prefix.
const REQUESTS: usize = 8;
/// Tokens of each request after the prefix.
const OWN: usize = 4;

/// Times of the prefill of one prompt, which the cache does not speed up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PrefillTiming {
    /// Tokens of the prompt.
    prompt: usize,
    cached: Spread,
    uncached: Spread,
    /// Median with the cache over median without.
    ratio: f64,
}

/// Times the prefill of every prompt that fits, `runs` times after a warm-up.
pub(crate) fn prefill_timings(
    lab: &LabModel,
    prompts: &[usize],
    runs: usize,
) -> Result<Vec<PrefillTiming>, LabError> {
    let fitting = prompts.iter().filter(|prompt| **prompt <= lab.context());
    fitting.map(|prompt| prefill_timing(lab, *prompt, runs)).collect()
}

fn prefill_timing(lab: &LabModel, prompt: usize, runs: usize) -> Result<PrefillTiming, LabError> {
    let task = lab.prompt(prompt)?;
    let runs = after_warm_up(runs, |_| {
        let prefill = |way: Way| {
            let mut decoder = way.decoder(lab);
            milliseconds(|| decoder.prefill(&[task.prompt()]))
        };
        Ok([prefill(Way::Cached)?, prefill(Way::Uncached)?])
    })?;
    let [cached, uncached] = [0, 1].map(|way| Spread::over(&runs, |run| run[way]));
    let ratio = cached.median_ms / uncached.median_ms;
    Ok(PrefillTiming { prompt, cached, uncached, ratio })
}

/// The prefills as a table.
pub(crate) fn prefill_table(timings: &[PrefillTiming]) -> String {
    let rows = timings.iter().map(|row| {
        let (prompt, with, without) = (row.prompt, row.cached, row.uncached);
        format!("{prompt} | {with} | {without} | {:.2}", row.ratio)
    });
    let header = "tokens of the prompt | prefill with the cache, ms | without, ms | with / without";
    table(header, rows)
}

/// Requests that begin alike, with the prefix computed once and computed again each time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PrefixReuse {
    prefix: usize,
    /// Tokens of a whole prompt.
    prompt: usize,
    /// The requests compared with generation without a cache.
    exactness: Exactness,
    /// Tokens that a request sends through the model until its first token, with the prefix kept.
    forwarded: usize,
    forwarded_without: usize,
    /// Time to the first token with the prefix kept.
    time_to_first_token: Spread,
    time_to_first_token_without: Spread,
}

impl fmt::Display for PrefixReuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = &self.exactness;
        let (with, without) = (self.time_to_first_token, self.time_to_first_token_without);
        let (kept, again) = (self.forwarded, self.forwarded_without);
        let speed_up = times(without.median_ms / with.median_ms);
        let rows = [
            format!("prefix kept | {kept} | {with}"),
            format!("prefix computed again | {again} | {without}"),
            format!("ratio | {}x | {speed_up}", again / kept),
        ];
        write!(
            f,
            "{} requests of {again} tokens that have the first {} in common, generated with the prefix kept and \
            without any cache: {} tokens are the same, {} ties.\n\n{}",
            exact.cases,
            self.prefix,
            exact.tokens,
            exact.ties,
            table(": | tokens until the first new one | ms", rows)
        )
    }
}

/// Compares, counts, then times `runs` requests of each kind in turns.
pub(crate) fn prefix_reuse(lab: &LabModel, runs: usize) -> Result<PrefixReuse, LabError> {
    let length = lab.context() * 3 / 4;
    let mut prefix = text_of_whole_context(lab)?;
    prefix.truncate(length);
    let after_prefix = || lab.model.cached_after(&prefix, lab.threads);
    // The first token after the prefix tells the requests apart.
    let own = |request, i| ((3 + request + 5 * i) % lab.vocabulary.len()) as TokenId;
    let prompt = |request: usize| {
        let own = (0..OWN).map(|i| own(request, i));
        prefix.iter().copied().chain(own).collect::<Vec<_>>()
    };

    let mut exactness = Exactness::new(REQUESTS);
    for request in 0..REQUESTS {
        let written = lab.vocabulary.decode(&prompt(request)[1..]);
        let written = written.map_err(GenerateError::from)?;
        let case = TestCase {
            name: format!("request {request} after a kept prefix"),
            task: Task::continuation(&written, &lab.vocabulary)?,
            config: seeded(&endless(usize::MAX), request as u64),
        };
        let (mut kept, mut full) = (after_prefix()?, lab.uncached());
        let other = Other::Generator(case.generator(&mut *full)?);
        exactness.compare(&case, &mut *kept, other, lab.tolerance())?;
    }

    let runs = after_warm_up(runs, |run| {
        let prompt = prompt(run % REQUESTS);
        let mut kept = (after_prefix()?, OWN);
        let mut again = (lab.cached(), length + OWN);
        let [kept, again] = [&mut kept, &mut again].map(|(decoder, expected)| {
            let elapsed = milliseconds(|| decoder.prefill(&[&prompt]))?;
            let counted = decoder.forwarded_tokens();
            if counted != *expected {
                return Err(LabError::Count(format!(
                    "a prompt of {} tokens: {counted} tokens went through the model where the formula has {expected}",
                    prompt.len()
                )));
            }
            Ok(elapsed)
        });
        Ok([kept?, again?])
    })?;
    Ok(PrefixReuse {
        prefix: length,
        prompt: length + OWN,
        exactness,
        forwarded: OWN,
        forwarded_without: length + OWN,
        time_to_first_token: Spread::over(&runs, |run| run[0]),
        time_to_first_token_without: Spread::over(&runs, |run| run[1]),
    })
}

#[cfg(test)]
mod tests {
    use tang_checkpoint::ModelConfig;

    use super::*;
    use crate::cache::tests::small;

    #[test]
    fn prompts_that_fit_are_timed() {
        let timings = prefill_timings(&small(ModelConfig::tang_4l), &[1, 48, 49], 2).unwrap();
        let prompts: Vec<_> = timings.iter().map(|timing| timing.prompt).collect();
        assert_eq!(prompts, [1, 48]);
        for timing in &timings {
            assert_eq!(timing.ratio, timing.cached.median_ms / timing.uncached.median_ms);
        }
        assert_eq!(prefill_table(&timings).lines().count(), 4);
    }
}
