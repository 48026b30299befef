//! The logarithm of the sum of exponentials.

use super::{LANES, max};
use crate::{pointwise::exp, simd::vectorized};

/// `ln(sum over i of e^logits[i])`, which turns a logit into a log-probability; -infinity for an empty slice.
pub fn log_sum_exp(logits: &[f32]) -> f64 {
    vectorized!({
        let max = max(logits);
        if max == f32::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        // lane[i % LANES] += e^(logits[i] - max), then the sum of the lanes in 64 bits
        let (blocks, rest) = logits.as_chunks::<LANES>();
        let mut lanes = [0.0_f32; LANES];
        for block in blocks {
            for (lane, logit) in lanes.iter_mut().zip(block) {
                *lane += exp(logit - max);
            }
        }
        let rest: f64 = rest.iter().map(|logit| f64::from(exp(logit - max))).sum();
        let sum = lanes.iter().copied().map(f64::from).sum::<f64>() + rest;
        f64::from(max) + sum.ln()
    })
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
