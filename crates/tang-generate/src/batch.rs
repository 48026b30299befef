//! Many poems at once.

use rayon::prelude::*;
use tang_tokenizer::TokenId;

use crate::{Decoder, GenerateError, Logits, Sequence, Step};

/// Rows from which the tokens of a step are chosen on several threads. Fewer go through the model
/// with a second thread that waits awake, and a third would only be in its way.
const WORTH_THREADS: usize = 9;

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
    // On a thread of the pool, where work is shared without waking anyone.
    rayon::scope(|_| generate(decoder, sequences))
}

fn generate(
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
        let steps = advance(sequences, &running, &logits);
        for (row, (index, step)) in running.iter().zip(steps).enumerate() {
            match step {
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

/// Chooses the next token of the sequences `running`, which are in order, one row of logits each.
fn advance(
    sequences: &mut [Sequence],
    running: &[usize],
    logits: &Logits,
) -> Vec<Result<Step, GenerateError>> {
    let mut wanted = running.iter().peekable();
    let sequences = sequences.iter_mut().enumerate();
    let rows: Vec<(&mut Sequence, &[f32])> = sequences
        .filter_map(|(index, sequence)| wanted.next_if_eq(&&index).map(|_| sequence))
        .zip(logits.rows())
        .collect();
    let step = |(sequence, logits): (&mut Sequence, &[f32])| sequence.advance(logits);
    match rows.len() < WORTH_THREADS {
        true => rows.into_iter().map(step).collect(),
        false => rows.into_par_iter().map(step).collect(),
    }
}
