//! Checks that each poem gets the same tokens in a batch as alone.

use std::{collections::HashSet, fmt};

use serde::Serialize;
use tang_generate::{Batch, Sequence};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    cache::{
        cases::{sampler, test_cases},
        comparison::{Exactness, LogitGap, Other},
    },
};

/// Count of poems per place: a quarter of the poems start at once, the others join when one ends.
const POEMS_PER_PLACE: usize = 4;
/// Count of rows of one task that differ in their seeds only.
const DRAWS: usize = 16;
/// Probability that all draws are the same by chance, below which equal draws are a fault.
const BY_CHANCE: f64 = 1e-6;

/// Many poems that were generated at once, and each again alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct BatchExactness {
    rows: usize,
    /// Count of poems that run at once.
    places: usize,
    /// Length of the shortest prompt, in tokens.
    shortest_prompt: usize,
    longest_prompt: usize,
    /// Count of rows that differ, with a first different token that rounding explains.
    ties: usize,
    /// Largest difference between the logits of a row in the batch and alone.
    largest_logit_difference: f32,
    /// Tokens that went through the model in the batch.
    forwarded: usize,
    /// Tokens of prompts that were already cached in their places.
    reused: usize,
    /// Tokens that went through the model row by row.
    forwarded_alone: usize,
    /// Rows of one task that were drawn with different seeds.
    draws: usize,
    /// Count of different poems among them.
    distinct_draws: usize,
    /// Probability, under the model, that all draws are the same as the first.
    same_draws_probability: f64,
}

impl fmt::Display for BatchExactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} poems in one batch, {} at once, from prompts of {} to {} tokens, are the same as one at a time; {} \
            ties, largest difference of a logit {:.1e}. A poem that ends leaves the batch, costs nothing more, and \
            another joins: {} tokens went through the model, {} one poem at a time; {}, of prompts, were already \
            cached in their places. {} rows that differ in their seeds only gave {} different poems.",
            self.rows,
            self.places,
            self.shortest_prompt,
            self.longest_prompt,
            self.ties,
            self.largest_logit_difference,
            self.forwarded,
            self.forwarded_alone,
            self.reused,
            self.draws,
            self.distinct_draws
        )?;
        if self.distinct_draws == 1 {
            write!(
                f,
                " The model is as sure of it: by its own probabilities, all are the same {:.0} times in 100.",
                100.0 * self.same_draws_probability
            )?;
        }
        Ok(())
    }
}

/// Generates `rows` poems of all modes and settings in one batch of a quarter as many places, and each
/// alone.
pub(crate) fn batch_exactness(lab: &LabModel, rows: usize) -> Result<BatchExactness, LabError> {
    let cases = test_cases(lab, rows)?;
    let mut batched = lab.cached();
    let sequences = cases.iter().map(|case| case.sequence());
    let places = rows.div_ceil(POEMS_PER_PLACE);
    let mut batch = Batch::with_places(&mut *batched, sequences, places);
    let together = batch.by_ref().collect::<Result<Vec<_>, _>>()?;
    let reused = batch.reused_tokens();
    drop(batch);
    let mut exactness = Exactness::new(rows);
    let mut forwarded_alone = 0;
    for (case, together) in cases.iter().zip(&together) {
        let (mut decoder, ties) = (lab.cached(), exactness.ties);
        let other = Other::Tokens(together.generated());
        exactness.compare(case, &mut *decoder, other, lab.tolerance())?;
        forwarded_alone += if exactness.ties > ties {
            // All tokens but the last one go through the model.
            together.tokens().len() - 1
        } else {
            decoder.forwarded_tokens()
        };
    }
    let forwarded = batched.forwarded_tokens();
    if forwarded + reused != forwarded_alone {
        return Err(LabError::Count(format!(
            "a batch of {rows} poems: {} tokens went through the model where the formula has {forwarded_alone}",
            forwarded + reused
        )));
    }
    let draws = lab.free_texts(&sampler(1.0, 0, 1.0), DRAWS)?;
    let different: HashSet<_> = draws.iter().map(Sequence::tokens).collect();
    let distinct_draws = different.len();
    let log_prob = draws[0].mean_log_prob() * draws[0].generated().len() as f64;
    let prompts = || cases.iter().map(|case| case.task.prompt().len());
    Ok(BatchExactness {
        rows,
        places,
        shortest_prompt: prompts().min().unwrap_or(0),
        longest_prompt: prompts().max().unwrap_or(0),
        ties: exactness.ties,
        largest_logit_difference: largest_difference(lab, &together)?,
        forwarded,
        reused,
        forwarded_alone,
        draws: DRAWS,
        distinct_draws,
        same_draws_probability: same_draws(distinct_draws, log_prob)?,
    })
}

/// The largest difference of logits over the whole texts, all in one ragged batch: all but their last two
/// tokens as prompts, then one more. Texts of fewer than three tokens are left out.
fn largest_difference(lab: &LabModel, sequences: &[Sequence]) -> Result<f32, LabError> {
    let split = |sequence: &'_ Sequence| -> Option<(Vec<TokenId>, TokenId)> {
        match sequence.tokens() {
            [prompt @ .., next, _] if !prompt.is_empty() => Some((prompt.to_vec(), *next)),
            _ => None,
        }
    };
    let (prompts, next): (Vec<_>, Vec<_>) = sequences.iter().filter_map(split).unzip();
    let mut gap = LogitGap::new("a batch", lab.tolerance());
    if prompts.is_empty() {
        return Ok(0.0);
    }
    let mut batched = lab.cached();
    let rows: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
    let together = [batched.prefill(&rows)?, batched.decode(&next)?];
    for (row, (prompt, next)) in prompts.iter().zip(next).enumerate() {
        let mut single = lab.cached();
        let alone = [single.prefill(&[prompt])?, single.decode(&[next])?];
        for (together, alone) in together.iter().zip(&alone) {
            gap.compare(together.row(row), alone.row(0))?;
        }
    }
    Ok(gap.largest)
}

/// The probability that all draws are the same as the first, a poem of this log-probability.
fn same_draws(distinct: usize, log_prob: f64) -> Result<f64, LabError> {
    let probability = (log_prob * (DRAWS - 1) as f64).exp();
    if distinct == 1 && probability < BY_CHANCE {
        return Err(LabError::Wrong(format!(
            "{DRAWS} rows with different seeds drew the same poem at temperature 1, and by the model's own \
            probabilities that comes with {probability:.0e} only: seeds make no difference"
        )));
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
