//! The least time that a token can take: every weight that it needs, read once.

use std::{sync::Barrier, time::Instant};

use rayon::ThreadPool;
use tang_checkpoint::{ModelConfig, ParameterSpec, parameters};
use tang_kernels::stream_sum;

/// Readings in a row that one time is taken of, so that starting a thread does not count.
const PASSES: usize = 16;

/// As many numbers as a model reads for each token.
pub(crate) struct WeightFloor(Vec<f32>);

impl WeightFloor {
    /// The floor of a model of this geometry: all its parameters but the tables that a token needs
    /// one row of.
    pub(crate) fn of(config: &ModelConfig) -> Self {
        let count: usize = parameters(config)
            .iter()
            .filter(|spec| !is_lookup_table(config, &spec.path))
            .map(ParameterSpec::numel)
            .sum();
        Self(vec![0.5; count])
    }

    /// Bytes that a token reads.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.0.as_slice())
    }

    /// Milliseconds in which the threads of a pool, each with a part of its own, read all once.
    pub(crate) fn read_ms(&self, pool: &ThreadPool) -> f64 {
        let per_thread = self.0.len().div_ceil(pool.current_num_threads());
        let parts: Vec<&[f32]> = self.0.chunks(per_thread).collect();
        let start = Barrier::new(parts.len());
        let part_ms = |part: &[f32]| {
            start.wait();
            let started = Instant::now();
            for _ in 0..PASSES {
                std::hint::black_box(stream_sum(std::hint::black_box(part)));
            }
            started.elapsed().as_secs_f64() * 1e3 / PASSES as f64
        };
        let times =
            pool.broadcast(|thread| parts.get(thread.index()).map_or(0.0, |part| part_ms(part)));
        times.into_iter().fold(0.0, f64::max)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_which_a_token_needs_one_row_do_not_count() {
        let gpt2 = ModelConfig::tang_4l(100);
        let all = |config: &ModelConfig| -> usize {
            parameters(config).iter().map(ParameterSpec::numel).sum()
        };
        let bytes = |config: &ModelConfig| WeightFloor::of(config).bytes();
        assert_eq!(bytes(&gpt2), 4 * (all(&gpt2) - 128 * 128));
        let untied = ModelConfig {
            tied_head: false,
            ..ModelConfig::minimind_4l(100)
        };
        assert_eq!(bytes(&untied), 4 * (all(&untied) - 100 * 128));
    }

    #[test]
    fn every_number_of_threads_can_read() {
        let floor = WeightFloor::of(&ModelConfig::tang_4l(20));
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            assert!(floor.read_ms(&pool.build().unwrap()) > 0.0);
        }
    }
}
