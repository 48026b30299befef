//! What it saves to keep the keys and values of a common prompt.

use std::{fmt, time::Instant};

use serde::Serialize;
use tang_engine::Decoder;
use tang_generate::{GenerationConfig, Task};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel, Spread,
    cache_paths::text_of_whole_context,
    exactness::{Exactness, compare},
    test_cases::TestCase,
};

/// Requests with the same prefix.
const REQUESTS: usize = 8;
/// Tokens of each request behind the prefix.
const OWN: usize = 4;

/// Requests that begin alike, with the prefix computed once and computed again each time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrefixReuse {
    /// Tokens of the prefix.
    pub prefix: usize,
    /// Tokens of a whole prompt.
    pub prompt: usize,
    /// Requests that were compared with a full pass, and what came of it.
    pub exactness: Exactness,
    /// Tokens that a request sends through the model until its first token, with the prefix kept.
    pub forwarded: usize,
    /// Without.
    pub forwarded_without: usize,
    /// Time to the first token with the prefix kept.
    pub time_to_first_token: Spread,
    /// Without.
    pub time_to_first_token_without: Spread,
}

impl fmt::Display for PrefixReuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = self.time_to_first_token_without;
        let with = self.time_to_first_token;
        write!(
            f,
            "{} requests of {} tokens that have the first {} in common, generated with the prefix kept and without any cache: {} tokens are the same, {} ties.\n\n| | tokens until the first new one | ms |\n|---|---:|---:|\n| prefix kept | {} | {with} |\n| prefix computed again | {} | {without} |\n| ratio | {:.0}x | {:.1}x |",
            self.exactness.cases,
            self.prompt,
            self.prefix,
            self.exactness.tokens,
            self.exactness.ties,
            self.forwarded,
            self.forwarded_without,
            self.forwarded_without as f64 / self.forwarded as f64,
            without.median_ms / with.median_ms,
        )
    }
}

/// Compares, counts, then times `runs` requests of each kind, interleaved.
///
/// # Errors
///
/// [`LabError::Tokens`] or [`LabError::Logits`] if a request gives another text;
/// [`LabError::Count`] if more than its own tokens went through the model.
pub fn prefix_reuse(lab: &LabModel, runs: usize) -> Result<PrefixReuse, LabError> {
    let text = text_of_whole_context(lab)?;
    let length = lab.context() * 3 / 4;
    let after_prefix = || lab.model.cached_after(&text[..length], lab.threads);
    let prompts = prompts(lab, &text[..length]);

    let mut exactness = Exactness::of(REQUESTS);
    for (request, prompt) in prompts.iter().enumerate() {
        let written = lab.vocabulary.decode(&prompt[1..]);
        let written = written.map_err(tang_generate::GenerateError::from)?;
        let case = TestCase {
            name: format!("request {request} behind a kept prefix"),
            task: Task::continuation(&written, &lab.vocabulary)?,
            config: GenerationConfig {
                seed: request as u64,
                stop_at_end: false,
                ..GenerationConfig::default()
            },
        };
        let mut kept = after_prefix()?;
        let mut full = lab.uncached();
        compare(&mut *kept, &mut *full, &case, &mut exactness)?;
    }

    let mut with = Vec::new();
    let mut without = Vec::new();
    for run in 0..=runs {
        let prompt = &prompts[run % REQUESTS];
        let mut kept = after_prefix()?;
        let mut again = lab.cached();
        with.push(prefill(&mut *kept, prompt, OWN)?);
        without.push(prefill(&mut *again, prompt, length + OWN)?);
    }
    Ok(PrefixReuse {
        prefix: length,
        prompt: length + OWN,
        exactness,
        forwarded: OWN,
        forwarded_without: length + OWN,
        // The first run warmed up.
        time_to_first_token: Spread::of(with.split_off(1)),
        time_to_first_token_without: Spread::of(without.split_off(1)),
    })
}

/// The prefix with different tokens behind it, the first of which tells the requests apart.
fn prompts(lab: &LabModel, prefix: &[TokenId]) -> Vec<Vec<TokenId>> {
    let tokens = lab.vocabulary.len();
    (0..REQUESTS)
        .map(|request| {
            let own = (0..OWN).map(|i| ((3 + request + 5 * i) % tokens) as TokenId);
            prefix.iter().copied().chain(own).collect()
        })
        .collect()
}

/// Milliseconds of a prefill that sends `expected` tokens through the model.
fn prefill(
    decoder: &mut dyn Decoder,
    prompt: &[TokenId],
    expected: usize,
) -> Result<f64, LabError> {
    let started = Instant::now();
    decoder.prefill(&[prompt])?;
    let elapsed = started.elapsed().as_secs_f64() * 1e3;
    let counted = decoder.forwarded_tokens();
    if counted != expected {
        return Err(LabError::Count {
            what: format!("a prompt of {} tokens", prompt.len()),
            counted,
            expected,
        });
    }
    Ok(elapsed)
}
