//! Logits on the host.

use tang_kernels::log_sum_exp;
use tang_tokenizer::TokenId;

/// Logits of the next token, one row per sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Logits {
    values: Vec<f32>,
    vocab_size: usize,
}

impl Logits {
    /// Logits of rows one after the other, each `vocab_size` long.
    ///
    /// # Panics
    ///
    /// If `values` is no whole number of rows.
    pub fn new(values: Vec<f32>, vocab_size: usize) -> Self {
        assert!(
            values.len().is_multiple_of(vocab_size),
            "{} logits are no rows of {vocab_size}",
            values.len()
        );
        Self { values, vocab_size }
    }

    /// The logits of one row, by token.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.vocab_size..][..self.vocab_size]
    }

    /// All rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks(self.vocab_size)
    }

    /// The log-probability of `token`, in nats, by the logits of one row.
    pub fn log_prob(&self, row: usize, token: TokenId) -> f64 {
        let logits = self.row(row);
        f64::from(logits[token as usize]) - log_sum_exp(logits)
    }
}

/// The entropy, in nats, of the softmax of logits: 0 if one token is certain, the logarithm of their count if all are
/// equally likely.
pub fn entropy(logits: &[f32]) -> f64 {
    let normaliser = log_sum_exp(logits);
    logits
        .iter()
        .map(|logit| normaliser - f64::from(*logit))
        .map(|surprise| (-surprise).exp() * surprise)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_by_vocabulary() {
        let logits = Logits::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3);
        assert_eq!(logits.row(1), [4.0, 5.0, 6.0]);
        assert_eq!(logits.rows().len(), 2);
    }

    #[test]
    fn the_probabilities_of_a_row_add_up() {
        let logits = Logits::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 7.0], 3);
        let sum: f64 = (0..3).map(|token| logits.log_prob(1, token).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        let lead = logits.log_prob(1, 2) - logits.log_prob(1, 0);
        assert!((lead - 3.0).abs() < 1e-6, "{lead}");
    }

    #[test]
    fn entropy_is_the_mean_surprise() {
        assert!((entropy(&[7.0; 4]) - 4.0_f64.ln()).abs() < 1e-6);
        assert!(entropy(&[200.0, 0.0, 0.0]).abs() < 1e-6);
        let shares = [0.5_f32, 0.25, 0.25];
        let wanted = 1.5 * 2.0_f64.ln();
        assert!((entropy(&shares.map(f32::ln)) - wanted).abs() < 1e-6);
    }
}
