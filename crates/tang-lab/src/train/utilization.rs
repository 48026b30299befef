//! The part of the machine's speed that training uses.

use std::{fmt, hint::black_box, sync::Barrier, time::Instant};

use burn::tensor::{Distribution, Tensor};
use rayon::ThreadPool;
use serde::Serialize;
use tang_checkpoint::{ModelConfig, ParameterSpec, parameters};
use tang_model::device;
use tang_train::{CHUNK_ROWS, PARTS, part_pools};

use super::TOKENS_PER_STEP;
use crate::{
    LabError,
    decode::timing::is_lookup_table,
    page::{count, table},
};

/// Times that a product is computed in a row for one timing.
const REPEATS: usize = 4;

/// The arithmetic that training needs, beside the speed of the machine (model FLOPs utilization of
/// Chowdhery et al., *PaLM*, 2022, appendix B).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Utilization {
    tokens_per_second: f64,
    /// Floating-point operations that a token needs at least, in a forward and a backward pass.
    flops_per_token: f64,
    /// The two multiplied, in billions per second.
    gflops: f64,
    peak: MatmulPeak,
    /// `gflops` over those of the fastest product, in percent.
    percent_of_peak: f64,
    /// `gflops` over those of all products, each in its share of a step, in percent: 100 would be a
    /// step that does nothing but multiply matrices.
    percent_of_products: f64,
}

impl Utilization {
    /// Compares the speed of training texts of `length` tokens with the peak.
    pub fn new(
        config: &ModelConfig,
        length: usize,
        tokens_per_second: f64,
        peak: MatmulPeak,
    ) -> Self {
        let flops_per_token = training_flops(config, length);
        let gflops = tokens_per_second * flops_per_token / 1e9;
        Self {
            tokens_per_second,
            flops_per_token,
            gflops,
            percent_of_peak: 100.0 * gflops / peak.gflops(),
            percent_of_products: 100.0 * gflops / peak.mean_gflops(),
            peak,
        }
    }
}

/// Floating-point operations of a forward and a backward pass per token: 6 N + 6 L T D.
///
/// N is the count of numbers in matrices that every token is multiplied with: those of the blocks and of
/// the output head, but no table of which a token takes one row. Each costs 2 in the forward pass,
/// and twice that in the backward pass. In each of L blocks, a query meets T / 2 keys and values on
/// average, T being the length of the text and D the width of the attention: another 2 T D in the
/// forward pass, and twice that in the backward pass.
fn training_flops(config: &ModelConfig, length: usize) -> f64 {
    (6 * factors(config) + 6 * config.layers * length * config.width) as f64
}

/// Count of numbers in matrices that every token is multiplied with.
fn factors(config: &ModelConfig) -> usize {
    let is_factor =
        |spec: &ParameterSpec| spec.shape.len() == 2 && !is_lookup_table(config, &spec.path);
    let list = parameters(config).into_iter();
    list.filter(is_factor).map(|spec| spec.numel()).sum()
}

/// The speeds of the matrix products of training, each measured alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MatmulPeak {
    products: Vec<ProductSpeed>,
}

/// The speed of one product of 32-bit floats through Burn, all parts of a batch together.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ProductSpeed {
    /// The result of training that it computes.
    what: &'static str,
    /// `[rows, inner, columns]`: a matrix `[rows, inner]` times one `[inner, columns]`.
    shape: [usize; 3],
    /// Its part of the operations of a step; the feed-forward layer counts for all of a block.
    share: f64,
    /// Billions of floating-point operations per second, two per multiplication with its addition.
    gflops: f64,
}

impl MatmulPeak {
    /// Measures the products of a feed-forward layer and of the output head, with those of their
    /// gradients, each `runs` times, on the threads of the trainer.
    pub fn measure(config: &ModelConfig, runs: usize) -> Result<Self, LabError> {
        let pools = part_pools()?;
        let products = products(config).map(|(what, shape, transposed, share)| {
            let speeds = (0..runs).map(|_| gflops(pools, shape, transposed));
            ProductSpeed { what, shape, share, gflops: speeds.fold(0.0, f64::max) }
        });
        Ok(Self { products: products.into() })
    }

    /// Takes over the better speeds of another measurement of the same products.
    pub fn raise(&mut self, other: &Self) {
        for (own, other) in self.products.iter_mut().zip(&other.products) {
            own.gflops = own.gflops.max(other.gflops);
        }
    }

    /// The speed of all products, each in its share of a step.
    fn mean_gflops(&self) -> f64 {
        let products = self.products.iter();
        1.0 / products.map(|one| one.share / one.gflops).sum::<f64>()
    }

    /// The speed of the fastest product.
    fn gflops(&self) -> f64 {
        let speeds = self.products.iter().map(|product| product.gflops);
        speeds.fold(0.0, f64::max)
    }
}

/// The factor of a product that is transposed in memory.
#[derive(Clone, Copy, PartialEq)]
enum Transposed {
    Neither,
    Left,
    Right,
}

/// Name, shape, transposed factor and share. Weights are `[in, out]`, and the output head is
/// `[vocab_size, width]`, as it is the embedding.
fn products(config: &ModelConfig) -> [(&'static str, [usize; 3], Transposed, f64); 6] {
    use Transposed::{Left, Neither, Right};
    let [width, inner, vocabulary] = [config.width, config.feed_forward_width, config.vocab_size];
    let [rows, few] = [TOKENS_PER_STEP[0] / PARTS, CHUNK_ROWS];
    let head = (vocabulary * width) as f64 / factors(config) as f64;
    let [block, head] = [1.0 - head, head].map(|share| share / 3.0);
    let (of_input, of_weights) = ("gradient of its input", "gradient of its weights");
    [
        ("feed-forward", [rows, width, inner], Neither, block),
        (of_input, [rows, inner, width], Right, block),
        (of_weights, [width, rows, inner], Left, block),
        ("output head", [few, width, vocabulary], Right, head),
        (of_input, [few, vocabulary, width], Neither, head),
        (of_weights, [vocabulary, few, width], Left, head),
    ]
}

/// The speed of a product that all pools compute at the same time.
fn gflops(pools: &[ThreadPool], [rows, inner, columns]: [usize; 3], transposed: Transposed) -> f64 {
    let start = Barrier::new(pools.len());
    let seconds = || {
        let device = device::cpu();
        let random = |shape: [usize; 2]| -> Tensor<2> {
            Tensor::random(shape, Distribution::Uniform(-1.0, 1.0), &device)
        };
        let matrix = |rows, columns, is_transposed| {
            if is_transposed {
                random([columns, rows]).transpose()
            } else {
                random([rows, columns])
            }
        };
        let left = matrix(rows, inner, transposed == Transposed::Left);
        let right = matrix(inner, columns, transposed == Transposed::Right);
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

impl fmt::Display for Utilization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gflops, peak) = (self.gflops, &self.peak);
        let (of_peak, of_products) = (self.percent_of_peak, self.percent_of_products);
        let speed = count(self.tokens_per_second.round() as usize);
        let flops = self.flops_per_token / 1e6;
        let (fastest, mean) = (peak.gflops(), peak.mean_gflops());
        let rows = peak.products.iter().map(|product| {
            let ([rows, inner, columns], percent) = (product.shape, 100.0 * product.share);
            let (what, gflops) = (product.what, product.gflops);
            format!(
                "{what} | [{rows}, {inner}] x [{inner}, {columns}] | {percent:.1} | {gflops:.0}"
            )
        });
        write!(
            f,
            "{speed} tokens/s x {flops:.2} MFLOP = {gflops:.0} GFLOP/s: {of_peak:.0} % of the {fastest:.0} GFLOP/s \
            of the fastest product below, and {of_products:.0} % of the {mean:.0} of all of them, each in its \
            share of a step. A product is one of 32-bit floats through Burn, which both parts of a step compute at \
            the same time; the best of all turns.\n\n{}",
            table(":product | shapes | share, % | GFLOP/s", rows)
        )
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn counts_the_operations_of_the_presets() {
        // 6 * (6289*128 + 4 * 12*128^2) + 6 * 4 * 50 * 128
        let gpt2 = training_flops(&ModelConfig::tang_4l(6289), 50);
        assert_eq!(gpt2, 9_548_544.0 + 153_600.0);
        // 6 * (6289*128 + 4 * (128*256 + 128^2 + 3*128*384)), without attention
        let llama = training_flops(&ModelConfig::minimind_4l(6289), 0);
        assert_eq!(llama, 9_548_544.0);
    }

    #[test]
    fn says_the_share_of_the_peak() {
        let product = |gflops| ProductSpeed {
            what: "output head",
            shape: [512, 128, 6289],
            share: 0.5,
            gflops,
        };
        let peak = MatmulPeak { products: vec![product(100.0), product(200.0)] };
        let config = ModelConfig::tang_4l(6289);
        let text = Utilization::new(&config, 0, 1e4, peak).to_string();
        let wanted = "10,000 tokens/s x 9.55 MFLOP = 95 GFLOP/s: 48 % of the 200 GFLOP/s of the fastest product \
            below, and 72 % of the 133 ";
        assert!(text.contains(wanted), "{text}");
        assert!(text.contains("| output head | [512, 128] x [128, 6289] | 50.0 | 100 |"), "{text}");
    }

    #[test]
    fn the_best_of_several_measurements_counts() {
        let config = ModelConfig { width: 16, feed_forward_width: 32, ..ModelConfig::tang_4l(40) };
        let mut peak = MatmulPeak::measure(&config, 1).unwrap();
        assert!(peak.products.iter().all(|product| product.gflops > 0.0));
        let shapes: Vec<_> = peak.products.iter().map(|product| product.shape).collect();
        assert_eq!(shapes[..3], [[2048, 16, 32], [2048, 32, 16], [16, 2048, 32]]);
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
