//! Many poems at once.

use tang_tokenizer::TokenId;

use crate::{Decoder, GenerateError, Sequence};

/// Runs all sequences to their ends in one batch. Each gives the tokens that it would give alone;
/// those that end leave the batch, so that they cost nothing further.
///
/// # Errors
///
/// If a prompt is longer than the context, or the constraints leave a row no token.
pub fn generate_batch(
    decoder: &mut impl Decoder,
    sequences: &mut [Sequence],
) -> Result<(), GenerateError> {
    try_generate_batch(decoder, sequences)?
        .into_iter()
        .collect()
}

/// As [`generate_batch`], but a row that the constraints leave no token leaves the batch, and the
/// others go on. Gives one outcome a row.
///
/// # Errors
///
/// If a prompt is longer than the context.
pub fn try_generate_batch(
    decoder: &mut impl Decoder,
    sequences: &mut [Sequence],
) -> Result<Vec<Result<(), GenerateError>>, GenerateError> {
    let mut outcomes: Vec<_> = sequences.iter().map(|_| Ok(())).collect();
    let mut running: Vec<usize> = (0..sequences.len()).collect();
    if running.is_empty() {
        return Ok(outcomes);
    }
    let prompts: Vec<&[TokenId]> = sequences.iter().map(Sequence::tokens).collect();
    let mut logits = decoder.prefill(&prompts)?;
    loop {
        let mut next = Vec::with_capacity(running.len());
        let mut kept = Vec::with_capacity(running.len());
        for (row, (index, logits)) in running.iter().zip(logits.rows()).enumerate() {
            match sequences[*index].advance(logits) {
                Err(error) => outcomes[*index] = Err(error),
                Ok(step) if sequences[*index].finish_reason().is_none() => {
                    next.push(step.token);
                    kept.push(row);
                }
                Ok(_) => {}
            }
        }
        if kept.is_empty() {
            return Ok(outcomes);
        }
        if kept.len() < running.len() {
            decoder.select(&kept);
            running = kept.into_iter().map(|row| running[row]).collect();
        }
        logits = decoder.decode(&next)?;
    }
}
