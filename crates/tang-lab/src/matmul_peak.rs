//! How fast this machine multiplies matrices, in the shapes that training has.

use std::{hint::black_box, sync::Barrier, thread, time::Instant};

use burn::tensor::{Distribution, Tensor};
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;
use tang_checkpoint::ModelConfig;
use tang_model::device;

use crate::{LabError, utilization::factors};

/// Parts that the trainer computes at the same time, each on a share of the cores.
const PARTS: usize = 2;
/// Positions of a part, half of a step of 4,096.
const POSITIONS: usize = 2048;
/// Positions whose logits the trainer computes at once.
const LOGIT_POSITIONS: usize = 512;
/// Times that a product is computed in a row for one timing.
const REPEATS: usize = 4;

/// The products of training, each at its best.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatmulPeak {
    /// One entry a product.
    pub products: Vec<ProductSpeed>,
}

/// The speed of one product of 32-bit floats through Burn, all parts together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProductSpeed {
    /// What training computes by it.
    pub what: &'static str,
    /// `[rows, inner, columns]`: a matrix `[rows, inner]` times one `[inner, columns]`.
    pub shape: [usize; 3],
    /// Its part of the operations of a step; the feed-forward layer stands for all of a block.
    pub share: f64,
    /// Billions of floating-point operations a second, two a multiplication with its addition.
    pub gflops: f64,
}

impl MatmulPeak {
    /// Measures the products of a feed-forward layer and of the output head, with those of their
    /// gradients, each `runs` times, in as many threads as the trainer uses.
    ///
    /// # Errors
    ///
    /// [`LabError::Threads`] if the system gives none.
    pub fn measure(config: &ModelConfig, runs: usize) -> Result<Self, LabError> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let pools = (0..PARTS)
            .map(|_| {
                let threads = cores.div_ceil(PARTS);
                ThreadPoolBuilder::new().num_threads(threads).build()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let products = products(config).map(|(what, shape, transposed, share)| ProductSpeed {
            what,
            shape,
            share,
            gflops: (0..runs)
                .map(|_| gflops(&pools, shape, transposed))
                .fold(0.0, f64::max),
        });
        Ok(Self {
            products: products.into(),
        })
    }

    /// Takes over what another measurement of the same products did better.
    pub fn raise(&mut self, other: &Self) {
        for (own, other) in self.products.iter_mut().zip(&other.products) {
            own.gflops = own.gflops.max(other.gflops);
        }
    }

    /// The speed of all products, each in its share of a step.
    pub fn mean_gflops(&self) -> f64 {
        let products = self.products.iter();
        1.0 / products.map(|one| one.share / one.gflops).sum::<f64>()
    }

    /// The speed of the fastest product.
    pub fn gflops(&self) -> f64 {
        let speeds = self.products.iter().map(|product| product.gflops);
        speeds.fold(0.0, f64::max)
    }
}

/// Which factor of a product lies in memory the other way round.
#[derive(Clone, Copy)]
enum Transposed {
    Neither,
    Left,
    Right,
}

/// What it is, its shape, how it lies in memory, and its share. Weights are `[in, out]`, and the
/// output head is `[vocab_size, width]`, as it is the embedding.
fn products(config: &ModelConfig) -> [(&'static str, [usize; 3], Transposed, f64); 6] {
    use Transposed::{Left, Neither, Right};
    let [width, inner, vocabulary] = [config.width, config.feed_forward_width, config.vocab_size];
    let [rows, few] = [POSITIONS, LOGIT_POSITIONS];
    let head = (vocabulary * width) as f64 / factors(config) as f64;
    let [block, head] = [1.0 - head, head].map(|share| share / 3.0);
    [
        ("feed-forward", [rows, width, inner], Neither, block),
        ("gradient of its input", [rows, inner, width], Right, block),
        ("gradient of its weights", [width, rows, inner], Left, block),
        ("output head", [few, width, vocabulary], Right, head),
        (
            "gradient of its input",
            [few, vocabulary, width],
            Neither,
            head,
        ),
        (
            "gradient of its weights",
            [vocabulary, few, width],
            Left,
            head,
        ),
    ]
}

/// The speed of a product that all pools compute at the same time.
fn gflops(pools: &[ThreadPool], [rows, inner, columns]: [usize; 3], transposed: Transposed) -> f64 {
    let start = Barrier::new(pools.len());
    let seconds = || {
        let device = device::cpu();
        let matrix = |rows, columns, is_transposed| -> Tensor<2> {
            let [a, b] = match is_transposed {
                true => [columns, rows],
                false => [rows, columns],
            };
            let matrix = Tensor::random([a, b], Distribution::Uniform(-1.0, 1.0), &device);
            match is_transposed {
                true => matrix.transpose(),
                false => matrix,
            }
        };
        let left = matrix(rows, inner, matches!(transposed, Transposed::Left));
        let right = matrix(inner, columns, matches!(transposed, Transposed::Right));
        black_box(left.clone().matmul(right.clone()));
        start.wait();
        let started = Instant::now();
        for _ in 0..REPEATS {
            black_box(left.clone().matmul(right.clone()));
        }
        started.elapsed().as_secs_f64()
    };
    let slowest = in_all(pools, &seconds);
    let operations = 2 * rows * inner * columns * REPEATS * pools.len();
    operations as f64 / slowest / 1e9
}

/// The most seconds that the work takes in any of the pools, which do it at the same time.
fn in_all(pools: &[ThreadPool], seconds: &(impl Fn() -> f64 + Sync)) -> f64 {
    let Some((first, others)) = pools.split_first() else {
        return 0.0;
    };
    let mut own = 0.0;
    let slowest = first.in_place_scope(|scope| {
        scope.spawn(|_| own = seconds());
        in_all(others, seconds)
    });
    slowest.max(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_several_measurements_counts() {
        let config = ModelConfig {
            width: 16,
            feed_forward_width: 32,
            ..ModelConfig::tang_4l(40)
        };
        let mut peak = MatmulPeak::measure(&config, 1).unwrap();
        assert!(peak.products.iter().all(|product| product.gflops > 0.0));
        let shapes: Vec<_> = peak.products.iter().map(|product| product.shape).collect();
        assert_eq!(
            shapes[..3],
            [[2048, 16, 32], [2048, 32, 16], [16, 2048, 32]]
        );
        assert_eq!(shapes[3..], [[512, 16, 40], [512, 40, 16], [40, 512, 16]]);

        let shares: f64 = peak.products.iter().map(|product| product.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
        assert!(peak.mean_gflops() <= peak.gflops());

        let mut other = peak.clone();
        other.products[1].gflops = 2.0 * peak.gflops();
        other.products[2].gflops = 0.0;
        let [first, third] = [0, 2].map(|i| peak.products[i].gflops);
        peak.raise(&other);
        assert_eq!(peak.gflops(), other.products[1].gflops);
        assert_eq!([0, 2].map(|i| peak.products[i].gflops), [first, third]);
    }
}
