//! What the model expects to come next.

use tang_engine::{Decoder, EngineError, Logits};
use tang_kernels::log_sum_exp;
use tang_tokenizer::TokenId;

use crate::candidates::Candidates;

/// A token and its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextToken {
    /// The token.
    pub token: TokenId,
    /// Its probability under the model alone, from 0 to 1.
    pub probability: f64,
}

/// The `top` most likely tokens after `prompt`, best first.
///
/// # Errors
///
/// If the prompt is longer than the context.
pub fn next_tokens(
    decoder: &mut dyn Decoder,
    prompt: &[TokenId],
    top: usize,
) -> Result<Vec<NextToken>, EngineError> {
    let logits: Logits = decoder.prefill(&[prompt])?;
    let row = logits.row(0);
    let normaliser = log_sum_exp(row);
    let mut candidates = Candidates::of_tokens(0..row.len() as TokenId, row);
    candidates.keep_best(top);
    Ok(candidates
        .as_slice()
        .iter()
        .map(|c| NextToken {
            token: c.token,
            probability: (f64::from(c.logit) - normaliser).exp(),
        })
        .collect())
}
