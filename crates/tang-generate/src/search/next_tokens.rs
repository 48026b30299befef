//! The likeliest next tokens.

use tang_engine::{Decoder, EngineError};
use tang_kernels::log_sum_exp;
use tang_tokenizer::TokenId;

use crate::sampling::candidates::Candidates;

/// A token and its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextToken {
    /// The token.
    pub token: TokenId,
    /// Its probability under the model alone, from 0 to 1.
    pub probability: f64,
}

/// The `top` likeliest tokens after `prompt`, best first.
///
/// # Errors
///
/// [`EngineError::TextTooLong`] if the prompt is longer than the context.
pub fn next_tokens(
    decoder: &mut dyn Decoder,
    prompt: &[TokenId],
    top: usize,
) -> Result<Vec<NextToken>, EngineError> {
    let logits = decoder.prefill(&[prompt])?;
    let normaliser = log_sum_exp(logits.row(0));
    let mut candidates = Candidates::all(logits.row(0));
    candidates.keep_best(top);
    let next = candidates.iter().map(|candidate| NextToken {
        token: candidate.token,
        probability: (f64::from(candidate.logit) - normaliser).exp(),
    });
    Ok(next.collect())
}
