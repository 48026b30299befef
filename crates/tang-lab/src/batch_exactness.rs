//! A batch gives each row what it would get alone.

use std::{collections::HashSet, fmt};

use serde::Serialize;
use tang_engine::Decoder;
use tang_generate::{Batch, GenerationConfig, Generator, Sequence};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    exactness::different_token,
    logit_gap::{LogitGap, tolerance},
    sampling_lab::free_samples,
    test_cases::{TestCase, test_cases},
};

/// Of so many poems one runs from the start; the others join where one has ended.
const POEMS_A_PLACE: usize = 4;
/// Rows of one task that differ in their seeds only.
const DRAWS: usize = 16;
/// Probability below which it is no chance that all of them are the same.
const BY_CHANCE: f64 = 1e-6;

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
    /// Rows whose first different token can be another for rounding.
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
    /// Probability, under the model, that all of them are the first one.
    pub same_draws_probability: f64,
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
            same_draws_probability,
        } = self;
        write!(
            f,
            "{rows} poems in one batch, {places} at once, from prompts of {shortest_prompt} to {longest_prompt} tokens, are the same as one at a time; {ties} ties, largest difference of a logit {largest_logit_difference:.1e}. A poem that ends leaves the batch, costs nothing more, and another joins: {forwarded} tokens went through the model, {forwarded_alone} one poem at a time; {reused}, of prompts, stood in their places already. {draws} rows that differ in their seeds only gave {distinct_draws} different poems."
        )?;
        if distinct_draws == 1 {
            write!(
                f,
                " The model is as sure of it: by its own probabilities, all are the same {:.0} times in 100.",
                100.0 * same_draws_probability
            )?;
        }
        Ok(())
    }
}

/// Generates `rows` poems of all modes and settings in one batch of a quarter as many places, and each
/// alone.
///
/// # Errors
///
/// [`LabError::Tokens`] at the first token that differs and is no tie; [`LabError::Logits`] if
/// logits differ by more than rounding can make, 1e-4 of the largest; [`LabError::Count`] if rows cost anything after their ends;
/// [`LabError::SameDraws`] if seeds make no difference where the model is not sure.
pub fn batch_exactness(lab: &LabModel, rows: usize) -> Result<BatchExactness, LabError> {
    let cases = test_cases(lab, rows)?;
    let mut batched = lab.cached();
    let sequences = cases
        .iter()
        .map(|case| Sequence::new(case.task.clone(), &case.config))
        .collect::<Result<Vec<_>, _>>()?;
    let places = rows.div_ceil(POEMS_A_PLACE);
    let mut batch = Batch::with_places(&mut *batched, sequences.into_iter().map(Ok), places);
    let sequences = batch.by_ref().collect::<Result<Vec<_>, _>>()?;
    let reused = batch.reused_tokens();
    drop(batch);
    let gap = logit_gap(lab, &sequences)?.checked("a batch")?;
    let mut ties = 0;
    let mut forwarded_alone = 0;
    for (case, together) in cases.iter().zip(&sequences) {
        let mut decoder = lab.cached();
        let tie = compare_alone(&mut *decoder, case, together.generated())?;
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
    let (distinct_draws, same_draws_probability) = distinct_draws(lab)?;
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
        distinct_draws,
        same_draws_probability,
    })
}

/// Over the whole texts, all in one ragged batch: all but their last two tokens as prompts, then
/// one more. Texts of fewer than three tokens are left out.
fn logit_gap(lab: &LabModel, sequences: &[Sequence]) -> Result<LogitGap, LabError> {
    let parts = || {
        sequences
            .iter()
            .filter_map(|sequence| match sequence.tokens() {
                [prompt @ .., next, _] if !prompt.is_empty() => Some((prompt, *next)),
                _ => None,
            })
    };
    let (prompts, next): (Vec<&[TokenId]>, Vec<TokenId>) = parts().unzip();
    let mut largest = LogitGap::NONE;
    if prompts.is_empty() {
        return Ok(largest);
    }
    let mut batched = lab.cached();
    let together = [batched.prefill(&prompts)?, batched.decode(&next)?];
    for (row, (prompt, next)) in parts().enumerate() {
        let mut single = lab.cached();
        let alone = [single.prefill(&[prompt])?, single.decode(&[next])?];
        for (together, alone) in together.iter().zip(&alone) {
            largest.widen(LogitGap::between(together.row(row), alone.row(0)));
        }
    }
    Ok(largest)
}

/// Whether the poem alone parts from `together` at a tie; an error if it does elsewhere.
fn compare_alone(
    decoder: &mut dyn Decoder,
    case: &TestCase,
    together: &[TokenId],
) -> Result<bool, LabError> {
    let mut alone = Generator::new(decoder, case.task.clone(), &case.config)?;
    while alone.sequence().finish_reason().is_none() {
        let logits = alone.logits()?.to_vec();
        let before = alone.sequence().clone();
        let Some(step) = alone.next().transpose()? else {
            break;
        };
        let Some(other) = together.get(before.generated().len()) else {
            break;
        };
        if *other != step.token {
            let name = format!("{}, in a batch", case.name);
            // The logits in the batch are not kept; they differ by no more than that.
            let gap = tolerance(&logits);
            different_token(&name, &before, &logits, gap, step, *other)?;
            return Ok(true);
        }
    }
    match together.len() == alone.sequence().generated().len() {
        true => Ok(false),
        false => Err(LabError::Count {
            what: format!("{}, in a batch behind its end", case.name),
            counted: together.len(),
            expected: alone.sequence().generated().len(),
        }),
    }
}

/// How many different poems so many seeds give, and how likely it is that all are the first.
///
/// # Errors
///
/// [`LabError::SameDraws`] if all are the same though that is next to impossible.
fn distinct_draws(lab: &LabModel) -> Result<(usize, f64), LabError> {
    let config = GenerationConfig {
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        ..GenerationConfig::default()
    };
    let sequences = free_samples(lab, &config, DRAWS)?;
    let distinct: HashSet<&[TokenId]> = sequences.iter().map(Sequence::tokens).collect();
    let first = &sequences[0];
    let log_prob = first.mean_log_prob() * first.generated().len() as f64;
    Ok((distinct.len(), same_draws(distinct.len(), log_prob)?))
}

/// The probability that all draws are a poem of this log-probability.
///
/// # Errors
///
/// [`LabError::SameDraws`] if they are, and it is too small.
fn same_draws(distinct: usize, log_prob: f64) -> Result<f64, LabError> {
    // It is the first, and the others are the same.
    let probability = (log_prob * (DRAWS - 1) as f64).exp();
    if distinct == 1 && probability < BY_CHANCE {
        return Err(LabError::SameDraws {
            rows: DRAWS,
            probability,
        });
    }
    Ok(probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_may_be_the_same_where_the_model_is_sure() {
        // Probabilities of the poem: all but 1, one half, one third, next to none.
        for (log_prob, good) in [(-1e-9, true), (-0.693, true), (-1.1, false), (-60.0, false)] {
            assert_eq!(same_draws(1, log_prob).is_ok(), good, "{log_prob}");
            assert!(same_draws(2, log_prob).is_ok(), "{log_prob}");
        }
        assert!((same_draws(16, 0.5_f64.ln()).unwrap() - 0.5_f64.powi(15)).abs() < 1e-12);
        let error = same_draws(1, -60.0).unwrap_err().to_string();
        assert!(error.contains("seeds make no difference"), "{error}");
    }
}
