//! The best of several samples.

use tang_engine::Decoder;

use crate::{Batch, GenerateError, GenerationConfig, Sequence, Task};

/// Difference between the seeds of two samples of one poem: large, since the seeds of neighbouring
/// poems differ by one.
const SEED_STEP: u64 = 1 << 40;

/// Draws `count` poems and gives the one whose tokens the model finds likeliest, by the mean of the log-probabilities
/// of all that were not given with their places. The first is drawn with the seed of `config`, as it would be alone.
///
/// # Errors
///
/// [`GenerateError::Setting`] if a setting has an impossible value, those of [`Task::fit`] and of
/// [`Decoder::append`], and [`GenerateError::NothingAllowed`] if all samples end where the constraints leave nothing.
///
/// # Panics
///
/// If `count` is 0.
pub fn best_of(
    decoder: &mut dyn Decoder,
    task: &Task,
    config: &GenerationConfig,
    count: usize,
) -> Result<Sequence, GenerateError> {
    assert!(count > 0, "the best of no sample");
    let sequences = (0..count as u64).map(|sample| {
        let seed = config.seed.wrapping_add(sample.wrapping_mul(SEED_STEP));
        let config = GenerationConfig { seed, ..config.clone() };
        Sequence::new(task.clone(), &config)
    });
    let mut failure = None;
    let mut best: Option<Sequence> = None;
    for result in Batch::new(decoder, sequences) {
        let score = Sequence::mean_chosen_log_prob;
        match result {
            Err(error @ GenerateError::NothingAllowed(_)) => failure = Some(error),
            Err(error) => return Err(error),
            Ok(sequence) => {
                if best.as_ref().is_none_or(|best| score(&sequence) > score(best)) {
                    best = Some(sequence);
                }
            }
        }
    }
    best.ok_or_else(|| failure.expect("a sample that gave no poem gave an error"))
}
