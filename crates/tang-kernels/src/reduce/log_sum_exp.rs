//! The logarithm of the sum of exponentials.

use pulp::{Arch, Simd, WithSimd};

use super::lanes::{self, LANES};
use crate::pointwise::exp::exp;

/// ln (e^l0 + e^l1 + ...): what turns a logit into a log-probability. -infinity if there is none.
pub fn log_sum_exp(logits: &[f32]) -> f64 {
    Arch::new().dispatch(LogSumExp(logits))
}

struct LogSumExp<'a>(&'a [f32]);

impl WithSimd for LogSumExp<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let highest = lanes::max(self.0);
        if highest == f32::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        f64::from(highest) + sum_of_exponentials(self.0, highest).ln()
    }
}

/// The sum of e^(value - shift).
#[inline(always)]
fn sum_of_exponentials(values: &[f32], shift: f32) -> f64 {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane += exp(value - shift);
        }
    }
    let rest: f64 = rest.iter().map(|value| f64::from(exp(value - shift))).sum();
    lanes.iter().copied().map(f64::from).sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_its_definition_at_every_length() {
        for length in 1..100 {
            let logits: Vec<f32> = (0..length).map(|i| (i as f32 * 0.9).sin() * 9.0).collect();
            let wanted = logits.iter().map(|l| f64::from(*l).exp()).sum::<f64>().ln();
            assert!((log_sum_exp(&logits) - wanted).abs() < 1e-6, "{length}");
        }
        assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
    }

    #[test]
    fn large_logits() {
        let wanted = 1000.0 + (1.0 + (-1.0_f64).exp()).ln();
        assert!((log_sum_exp(&[1000.0, 999.0]) - wanted).abs() < 1e-6);
    }
}
