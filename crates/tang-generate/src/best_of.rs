//! The best of several samples.

use crate::{Decoder, GenerateError, GenerationConfig, Sequence, Task, try_generate_batch};

/// Poems that are drawn at once: memory has an end.
const BATCH: usize = 64;

/// Draws `count` poems and gives the one whose free tokens the model finds likeliest,
/// by the mean of their log-probabilities. The first is drawn with the seed of `config`, as it
/// would be alone.
///
/// # Errors
///
/// If a setting has an impossible value, the prompt is longer than the context, or all samples end
/// where the constraints leave nothing.
///
/// # Panics
///
/// If `count` is 0.
pub fn best_of(
    decoder: &mut impl Decoder,
    task: &Task,
    config: &GenerationConfig,
    count: usize,
    context: usize,
) -> Result<Sequence, GenerateError> {
    assert!(count > 0, "the best of no sample");
    let mut failure = None;
    let mut best: Option<Sequence> = None;
    for first in (0..count).step_by(BATCH) {
        let mut sequences = (first..count.min(first + BATCH))
            .map(|sample| {
                let config = GenerationConfig {
                    // Far from the seeds of neighbouring poems, which count up by one.
                    seed: config.seed.wrapping_add((sample as u64) << 40),
                    ..config.clone()
                };
                Sequence::new(task.clone(), &config, context)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let outcomes = try_generate_batch(decoder, &mut sequences)?;
        for (sequence, outcome) in sequences.into_iter().zip(outcomes) {
            let score = Sequence::mean_free_log_prob;
            match outcome {
                Err(error) => failure = Some(error),
                Ok(())
                    if best
                        .as_ref()
                        .is_none_or(|best| score(&sequence) > score(best)) =>
                {
                    best = Some(sequence);
                }
                Ok(()) => {}
            }
        }
    }
    best.ok_or_else(|| failure.expect("a sample that gave no poem gave an error"))
}
