//! A batch gives each row what it would get alone.

use std::{collections::HashSet, fmt};

use serde::Serialize;
use tang_generate::{Batch, CachedDecoder, Decoder, GenerationConfig, Generator, Sequence};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    cache_paths::{difference, widen, within_tolerance},
    exactness::different_token,
    sampling_lab::free_samples,
    test_cases::{TestCase, test_cases},
};

/// Of so many poems one runs from the start; the others join where one has ended.
const POEMS_A_PLACE: usize = 4;
/// Rows of one task that differ in their seeds only.
const DRAWS: usize = 16;

/// What came of generating many poems at once, and each again alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BatchExactness {
    /// Poems in one batch.
    pub rows: usize,
    /// How many of them ran at once.
    pub places: usize,
    /// Length of the shortest prompt, in tokens.
    pub shortest_prompt: usize,
    /// Length of the longest.
    pub longest_prompt: usize,
    /// Rows whose first different token won by less than rounding can turn.
    pub ties: usize,
    /// Largest difference between the logits of a row in the batch and alone.
    pub largest_logit_difference: f32,
    /// Tokens that went through the model in the batch.
    pub forwarded: usize,
    /// Tokens that did not have to, as they stood in their places already.
    pub reused: usize,
    /// Tokens that went through it row by row.
    pub forwarded_alone: usize,
    /// Rows of one task that were drawn with different seeds.
    pub draws: usize,
    /// How many different poems they are.
    pub distinct_draws: usize,
}

impl fmt::Display for BatchExactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self {
            rows,
            places,
            shortest_prompt,
            longest_prompt,
            ties,
            largest_logit_difference,
            forwarded,
            reused,
            forwarded_alone,
            draws,
            distinct_draws,
        } = self;
        write!(
            f,
            "{rows} poems in one batch, {places} at once, from prompts of {shortest_prompt} to {longest_prompt} tokens, are the same as one at a time; {ties} ties, largest difference of a logit {largest_logit_difference:.1e}. A poem that ends leaves the batch, costs nothing more, and another joins: {forwarded} tokens went through the model, {forwarded_alone} one poem at a time; {reused}, of prompts, stood in their places already. {draws} rows that differ in their seeds only gave {distinct_draws} different poems."
        )
    }
}

/// Generates `rows` poems of all modes and settings in one batch of a quarter as many places, and each
/// alone.
///
/// # Errors
///
/// [`LabError::Tokens`] at the first token that differs and is no tie; [`LabError::Logits`] if
/// logits differ by more than 1e-4; [`LabError::Count`] if rows cost anything after their ends;
/// [`LabError::SameDraws`] if seeds make no difference.
pub fn batch_exactness(lab: &LabModel, rows: usize) -> Result<BatchExactness, LabError> {
    let cases = test_cases(lab, rows)?;
    let mut batched = CachedDecoder::new(&lab.model);
    let sequences = cases
        .iter()
        .map(|case| Sequence::new(case.task.clone(), &case.config, lab.context()))
        .collect::<Result<Vec<_>, _>>()?;
    let places = rows.div_ceil(POEMS_A_PLACE);
    let mut batch = Batch::with_places(&mut batched, sequences.into_iter().map(Ok), places);
    let sequences = batch.by_ref().collect::<Result<Vec<_>, _>>()?;
    let reused = batch.reused_tokens();
    let gap = largest_logit_difference(lab, &sequences)?;
    within_tolerance("a batch", gap)?;
    let mut ties = 0;
    let mut forwarded_alone = 0;
    for (case, together) in cases.iter().zip(&sequences) {
        let mut decoder = CachedDecoder::new(&lab.model);
        let tie = compare_alone(lab, &mut decoder, case, together.generated(), gap)?;
        ties += usize::from(tie);
        // What is forwarded: all tokens but the last one.
        forwarded_alone += match tie {
            true => together.tokens().len() - 1,
            false => decoder.forwarded_tokens(),
        };
    }
    let forwarded = batched.forwarded_tokens();
    if forwarded + reused != forwarded_alone {
        return Err(LabError::Count {
            what: format!("a batch of {rows} poems"),
            counted: forwarded + reused,
            expected: forwarded_alone,
        });
    }
    let prompts = || cases.iter().map(|case| case.task.prompt().len());
    Ok(BatchExactness {
        rows,
        places,
        shortest_prompt: prompts().min().unwrap_or(0),
        longest_prompt: prompts().max().unwrap_or(0),
        ties,
        largest_logit_difference: gap,
        forwarded,
        reused,
        forwarded_alone,
        draws: DRAWS,
        distinct_draws: distinct_draws(lab)?,
    })
}

/// Over the whole texts, all in one ragged batch: all but their last two tokens as prompts, then
/// one more.
fn largest_logit_difference(lab: &LabModel, sequences: &[Sequence]) -> Result<f32, LabError> {
    let parts = || {
        sequences
            .iter()
            .filter_map(|sequence| match sequence.tokens() {
                [prompt @ .., next, _] if !prompt.is_empty() => Some((prompt, *next)),
                _ => None,
            })
    };
    let (prompts, next): (Vec<&[TokenId]>, Vec<TokenId>) = parts().unzip();
    let mut batched = CachedDecoder::new(&lab.model);
    let together = [batched.prefill(&prompts)?, batched.decode(&next)?];
    let mut largest = 0.0;
    for (row, (prompt, next)) in parts().enumerate() {
        let mut single = CachedDecoder::new(&lab.model);
        let alone = [single.prefill(&[prompt])?, single.decode(&[next])?];
        for (together, alone) in together.iter().zip(&alone) {
            widen(&mut largest, difference(together.row(row), alone.row(0)));
        }
    }
    Ok(largest)
}

/// Whether the poem alone parts from `together` at a tie; an error if it does elsewhere.
fn compare_alone(
    lab: &LabModel,
    decoder: &mut CachedDecoder,
    case: &TestCase,
    together: &[TokenId],
    gap: f32,
) -> Result<bool, LabError> {
    let steps = Generator::new(decoder, case.task.clone(), &case.config, lab.context())?;
    let mut done = 0;
    for (place, step) in steps.enumerate() {
        let step = step?;
        let other = together.get(place).copied();
        if other != Some(step.token) {
            let name = format!("{}, in a batch", case.name);
            let tokens = [other.unwrap_or_default(), step.token];
            different_token(&name, &case.config, gap, step.margin, tokens, place)?;
            return Ok(true);
        }
        done = place + 1;
    }
    match together.len() == done {
        true => Ok(false),
        false => Err(LabError::Count {
            what: format!("{}, in a batch behind its end", case.name),
            counted: together.len(),
            expected: done,
        }),
    }
}

fn distinct_draws(lab: &LabModel) -> Result<usize, LabError> {
    let config = GenerationConfig {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        ..GenerationConfig::default()
    };
    let sequences = free_samples(lab, &config, DRAWS)?;
    let distinct: HashSet<&[TokenId]> = sequences.iter().map(Sequence::tokens).collect();
    match distinct.len() {
        1 => Err(LabError::SameDraws { rows: DRAWS }),
        distinct => Ok(distinct),
    }
}
