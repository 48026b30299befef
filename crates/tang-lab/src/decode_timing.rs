//! How fast a model decodes, beside the least time that its weights take to read.

use std::time::Instant;

use serde::Serialize;
use tang_generate::{GenerationConfig, Sequence, Task, generate_batch};
use tang_kernels::Threads;

use crate::{
    DecodePlan, LabError, LabModel, Spread, timed_generation::TimedGeneration,
    weight_floor::WeightFloor,
};

/// The speed of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecodeTiming {
    /// Bytes of weights that each token reads.
    pub bytes_per_token: usize,
    /// One text, on one thread and then on all; a single entry where there is one thread.
    pub threads: Vec<ThreadTiming>,
    /// The same text without the cache, on all threads.
    pub uncached: Spread,
    /// Many texts at once, on all threads.
    pub batches: Vec<BatchTiming>,
}

/// One text on some number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadTiming {
    /// The threads.
    pub threads: usize,
    /// All weights of a token, read once.
    pub floor: Spread,
    /// The whole text with the cache, sampling included.
    pub cached: Spread,
    /// Median time of a token over the median floor.
    pub ratio: f64,
}

/// Many texts at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BatchTiming {
    /// Texts.
    pub rows: usize,
    /// All of them, to their ends.
    pub time: Spread,
    /// Characters a second, all texts together, at the median.
    pub characters_per_second: f64,
}

/// Everything that is timed, once each, in milliseconds.
struct Round {
    /// Floor and text, one entry a number of threads.
    threads: Vec<(f64, f64)>,
    uncached: f64,
    batches: Vec<f64>,
}

/// Times a model: everything in turns, `plan.runs` times after one to warm up.
///
/// # Errors
///
/// If the model has fewer positions than the texts need, or no thread can be started.
pub(crate) fn decode_timing(lab: &LabModel, plan: &DecodePlan) -> Result<DecodeTiming, LabError> {
    let floor = WeightFloor::of(lab.model.config());
    let all = rayon::current_num_threads();
    let counts: Vec<usize> = match all {
        1 => vec![1],
        _ => vec![1, all],
    };
    let pools = counts
        .iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(*threads);
            Ok((*threads, pool.build()?))
        })
        .collect::<Result<Vec<_>, LabError>>()?;
    let mut cached = lab.cached();
    let mut rounds = Vec::with_capacity(plan.runs);
    for run in 0..=plan.runs {
        let threads = pools
            .iter()
            .map(|(threads, pool)| {
                cached.set_threads(Threads::new(*threads));
                let text = TimedGeneration::run(&mut *cached, &Task::open(), plan.characters)?;
                Ok((floor.read_ms(pool), text.total_ms()))
            })
            .collect::<Result<_, LabError>>()?;
        let mut full = lab.uncached();
        let uncached = TimedGeneration::run(&mut *full, &Task::open(), plan.characters)?;
        let batches = plan
            .batches
            .iter()
            .map(|rows| batch_ms(lab, *rows, plan.characters))
            .collect::<Result<_, LabError>>()?;
        if run > 0 {
            rounds.push(Round {
                threads,
                uncached: uncached.total_ms(),
                batches,
            });
        }
    }
    let spread = |time: &dyn Fn(&Round) -> f64| Spread::of(rounds.iter().map(time).collect());
    let threads = counts.iter().enumerate().map(|(index, threads)| {
        let floor = spread(&|round| round.threads[index].0);
        let cached = spread(&|round| round.threads[index].1);
        ThreadTiming {
            threads: *threads,
            floor,
            cached,
            ratio: cached.median_ms / plan.characters as f64 / floor.median_ms,
        }
    });
    let batches = plan.batches.iter().enumerate().map(|(index, rows)| {
        let time = spread(&|round| round.batches[index]);
        BatchTiming {
            rows: *rows,
            time,
            characters_per_second: (rows * plan.characters) as f64 / time.median_ms * 1e3,
        }
    });
    Ok(DecodeTiming {
        bytes_per_token: floor.bytes(),
        threads: threads.collect(),
        uncached: spread(&|round| round.uncached),
        batches: batches.collect(),
    })
}

/// Milliseconds of `rows` texts of their own seeds, in one batch.
fn batch_ms(lab: &LabModel, rows: usize, characters: usize) -> Result<f64, LabError> {
    let sequences = (0..rows as u64)
        .map(|seed| {
            let config = GenerationConfig {
                seed,
                max_new_tokens: characters,
                stop_at_end: false,
                ..GenerationConfig::default()
            };
            Sequence::new(Task::open(), &config)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut decoder = lab.cached();
    let started = Instant::now();
    generate_batch(&mut *decoder, sequences)?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use tang_checkpoint::ModelConfig;

    use super::*;
    use crate::lab_model::tests::small;

    #[test]
    fn everything_is_timed() {
        let plan = DecodePlan {
            runs: 2,
            starts: 1,
            characters: 12,
            batches: &[1, 3],
        };
        let timing = decode_timing(&small(ModelConfig::minimind_4l), &plan).unwrap();
        assert_eq!(timing.threads[0].threads, 1);
        let all = timing.threads.last().unwrap();
        assert_eq!(all.threads, rayon::current_num_threads());
        assert_eq!(all.ratio, all.cached.median_ms / 12.0 / all.floor.median_ms);
        let [one, three] = &timing.batches[..] else {
            panic!("{timing:?}");
        };
        assert_eq!((one.rows, three.rows), (1, 3));
        let seconds = three.time.median_ms / 1e3;
        assert!((three.characters_per_second * seconds - 36.0).abs() < 1e-9);
    }
}
