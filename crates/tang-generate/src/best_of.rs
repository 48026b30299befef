//! The best of several samples.

use crate::{Decoder, GenerateError, GenerationConfig, Sequence, Task, try_generate_batch};

/// Draws `count` poems in one batch and gives the one whose free tokens the model finds likeliest,
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
    let mut sequences = (0..count as u64)
        .map(|sample| {
            let config = GenerationConfig {
                // Far from the seeds of neighbouring poems, which count up by one.
                seed: config.seed.wrapping_add(sample << 40),
                ..config.clone()
            };
            Sequence::new(task.clone(), &config, context)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let outcomes = try_generate_batch(decoder, &mut sequences)?;
    let mut failure = None;
    let mut best: Option<Sequence> = None;
    for (sequence, outcome) in sequences.into_iter().zip(outcomes) {
        let better = |than: &Sequence| sequence.mean_free_log_prob() > than.mean_free_log_prob();
        match outcome {
            Err(error) => failure = Some(error),
            Ok(()) if best.as_ref().is_none_or(better) => best = Some(sequence),
            Ok(()) => {}
        }
    }
    best.ok_or_else(|| failure.expect("a sample that gave no poem gave an error"))
}
