//! How much of the machine's speed training uses.

use std::fmt;

use serde::Serialize;
use tang_checkpoint::{ModelConfig, ParameterSpec, parameters};

use crate::{
    MatmulPeak,
    table::{table, thousands},
    weight_floor::is_lookup_table,
};

/// The arithmetic that training needs, beside what the machine can do (model FLOPs utilization of
/// Chowdhery et al., *PaLM*, 2022, appendix B).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Utilization {
    /// Tokens a second of training.
    pub tokens_per_second: f64,
    /// Floating-point operations that a token needs at least, in a forward and a backward pass.
    pub flops_per_token: f64,
    /// The two multiplied, in billions a second.
    pub gflops: f64,
    /// What the machine can do.
    pub peak: MatmulPeak,
    /// `gflops` over those of the fastest product, in percent.
    pub percent_of_peak: f64,
    /// `gflops` over those of all products, each in its share of a step, in percent: 100 would be a
    /// step that does nothing but multiply matrices.
    pub percent_of_products: f64,
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

/// Floating-point operations of a forward and a backward pass, a token: 6 N + 6 L T D.
///
/// N are the numbers in matrices that every token is multiplied with: those of the blocks and of
/// the output head, but no table that a token takes one row of. Each costs 2 in the forward pass,
/// and twice that in the backward pass. In each of L blocks, a query meets T / 2 keys and values on
/// average, T being the length of the text and D the width of the attention: another 2 T D in the
/// forward pass, and twice that in the backward pass.
pub(crate) fn training_flops(config: &ModelConfig, length: usize) -> f64 {
    (6 * factors(config) + 6 * config.layers * length * config.width) as f64
}

/// Numbers in matrices that every token is multiplied with.
pub(crate) fn factors(config: &ModelConfig) -> usize {
    let is_factor =
        |spec: &ParameterSpec| spec.shape.len() == 2 && !is_lookup_table(config, &spec.path);
    let list = parameters(config).into_iter();
    list.filter(is_factor).map(|spec| spec.numel()).sum()
}

impl fmt::Display for Utilization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} tokens/s x {:.2} MFLOP = {:.0} GFLOP/s: {:.0} % of the {:.0} GFLOP/s of the fastest product below, \
             and {:.0} % of the {:.0} of all of them, each in its share of a step. A product is one of 32-bit \
             floats through Burn, which both parts of a step compute at the same time; the best of all turns.\n",
            thousands(self.tokens_per_second.round() as u64),
            self.flops_per_token / 1e6,
            self.gflops,
            self.percent_of_peak,
            self.peak.gflops(),
            self.percent_of_products,
            self.peak.mean_gflops()
        )?;
        let rows = self.peak.products.iter().map(|product| {
            let [rows, inner, columns] = product.shape;
            [
                product.what.to_owned(),
                format!("[{rows}, {inner}] x [{inner}, {columns}]"),
                format!("{:.1}", 100.0 * product.share),
                format!("{:.0}", product.gflops),
            ]
        });
        write!(
            f,
            "{}",
            table(["product", "shapes", "share, %", "GFLOP/s"], rows)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProductSpeed;

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
        let peak = MatmulPeak {
            products: vec![product(100.0), product(200.0)],
        };
        let config = ModelConfig::tang_4l(6289);
        let text = Utilization::new(&config, 0, 1e4, peak).to_string();
        let wanted = "10,000 tokens/s x 9.55 MFLOP = 95 GFLOP/s: 48 % of the 200 GFLOP/s of the fastest product below, and 72 % of the 133 ";
        assert!(text.contains(wanted), "{text}");
        assert!(
            text.contains("| output head | [512, 128] x [128, 6289] | 50.0 | 100 |"),
            "{text}"
        );
    }
}
