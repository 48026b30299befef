//! Times of decoding, beside the least time that a token can take: every weight that it needs, read once.

use std::{hint::black_box, sync::Barrier, time::Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;
use tang_checkpoint::{ModelConfig, ParameterSpec, parameters};
use tang_engine::Decoder;
use tang_generate::Task;
use tang_kernels::{Threads, stream_sum};

use crate::{
    Bytes, DecodePlan, LabError, LabModel,
    cache::{cases::endless, counting::TimedGeneration},
    stats::{Spread, after_warm_up, milliseconds},
};

/// Count of consecutive readings per measured time, so that the start of a thread hardly counts.
const PASSES: usize = 16;

/// The speed of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DecodeTiming {
    /// Bytes of weights that each token reads.
    pub bytes_per_token: Bytes,
    /// One text, on one thread and then on all; a single entry where there is one thread.
    pub threads: Vec<ThreadTiming>,
    /// The same text without the cache, on all threads.
    pub uncached: Spread,
    /// Many texts at once, on all threads.
    pub batches: Vec<BatchTiming>,
}

/// One text on some number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ThreadTiming {
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
pub(crate) struct BatchTiming {
    /// Texts.
    pub rows: usize,
    /// All of them, to their ends.
    pub time: Spread,
    /// Characters per second, all texts together, at the median.
    pub characters_per_second: f64,
}

/// Everything that is timed, once each, in milliseconds.
struct Round {
    /// Floor and text, one entry per number of threads.
    threads: Vec<[f64; 2]>,
    uncached: f64,
    batches: Vec<f64>,
}

/// Times a model: everything in turns, `plan.runs` times after one to warm up.
pub(crate) fn decode_timing(lab: &LabModel, plan: &DecodePlan) -> Result<DecodeTiming, LabError> {
    let weights = vec![0.5; weights_per_token(lab.model.config())];
    let mut counts = vec![1, rayon::current_num_threads()];
    counts.dedup();
    let pool = |threads: &usize| ThreadPoolBuilder::new().num_threads(*threads).build();
    let pools = counts.iter().map(pool).collect::<Result<Vec<_>, _>>()?;
    let mut cached = lab.cached();
    let rounds = after_warm_up(plan.runs, |_| {
        let text = |decoder: &mut dyn Decoder| {
            let text = TimedGeneration::run(decoder, &Task::open(), plan.characters)?;
            Ok::<_, LabError>(text.total_ms())
        };
        let threads = counts.iter().zip(&pools).map(|(threads, pool)| {
            cached.set_threads(Threads::new(*threads));
            let text = text(&mut *cached)?;
            Ok([read_ms(&weights, pool), text])
        });
        let threads = threads.collect::<Result<_, LabError>>()?;
        let uncached = text(&mut *lab.uncached())?;
        let config = endless(plan.characters);
        let batches = plan.batches.iter();
        let batches = batches.map(|rows| milliseconds(|| lab.free_texts(&config, *rows)));
        Ok(Round { threads, uncached, batches: batches.collect::<Result<_, _>>()? })
    })?;
    let threads = counts.iter().enumerate().map(|(index, threads)| {
        let [floor, cached] =
            [0, 1].map(|i| Spread::over(&rounds, |round| round.threads[index][i]));
        let ratio = cached.median_ms / plan.characters as f64 / floor.median_ms;
        ThreadTiming { threads: *threads, floor, cached, ratio }
    });
    let batches = plan.batches.iter().enumerate().map(|(index, rows)| {
        let time = Spread::over(&rounds, |round| round.batches[index]);
        let characters_per_second = (rows * plan.characters) as f64 / time.median_ms * 1e3;
        BatchTiming { rows: *rows, time, characters_per_second }
    });
    Ok(DecodeTiming {
        bytes_per_token: Bytes(size_of_val(weights.as_slice()) as u64),
        threads: threads.collect(),
        uncached: Spread::over(&rounds, |round| round.uncached),
        batches: batches.collect(),
    })
}

/// Count of the parameters that a token reads: all but the tables of which it needs one row.
fn weights_per_token(config: &ModelConfig) -> usize {
    let specs = parameters(config).into_iter();
    let read = specs.filter(|spec| !is_lookup_table(config, &spec.path));
    read.map(|spec| ParameterSpec::numel(&spec)).sum()
}

/// Whether a token needs one row of this parameter, and not all of it.
pub(crate) fn is_lookup_table(config: &ModelConfig, path: &str) -> bool {
    match path {
        "position_embedding" => true,
        // A tied model reads it as its output head.
        "token_embedding" => !config.tied_head,
        _ => false,
    }
}

/// Milliseconds in which the threads of a pool, each with a part of its own, read all weights once.
fn read_ms(weights: &[f32], pool: &ThreadPool) -> f64 {
    let per_thread = weights.len().div_ceil(pool.current_num_threads());
    let parts: Vec<&[f32]> = weights.chunks(per_thread).collect();
    let start = Barrier::new(parts.len());
    let part_ms = |part: &&[f32]| {
        start.wait();
        let started = Instant::now();
        for _ in 0..PASSES {
            black_box(stream_sum(black_box(part)));
        }
        started.elapsed().as_secs_f64() * 1e3 / PASSES as f64
    };
    let times = pool.broadcast(|thread| parts.get(thread.index()).map_or(0.0, part_ms));
    times.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use crate::cache::tests::small;

    use super::*;

    #[test]
    fn everything_is_timed() {
        let plan = DecodePlan { runs: 2, starts: 1, characters: 12, batches: &[1, 3] };
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

    #[test]
    fn tables_of_which_a_token_needs_one_row_do_not_count() {
        let gpt2 = ModelConfig::tang_4l(100);
        let all = |config: &ModelConfig| -> usize {
            parameters(config).iter().map(ParameterSpec::numel).sum()
        };
        let bytes = |config: &ModelConfig| 4 * weights_per_token(config);
        assert_eq!(bytes(&gpt2), 4 * (all(&gpt2) - 128 * 128));
        let untied = ModelConfig { tied_head: false, ..ModelConfig::minimind_4l(100) };
        assert_eq!(bytes(&untied), 4 * (all(&untied) - 100 * 128));
    }

    #[test]
    fn every_number_of_threads_can_read() {
        let weights = vec![0.5; weights_per_token(&ModelConfig::tang_4l(20))];
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            assert!(read_ms(&weights, &pool.build().unwrap()) > 0.0);
        }
    }
}
