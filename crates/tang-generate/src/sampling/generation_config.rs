//! The settings of a generation.

use crate::GenerateError;

/// Least temperature above 0: below it, logit / temperature could overflow.
const MIN_TEMPERATURE: f32 = 1e-3;

/// Settings of one generation.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationConfig {
    /// The same seed gives the same poem: with the cache or without, alone or in a batch.
    pub seed: u64,
    /// Divisor of the logits; 0 always takes the best token.
    pub temperature: f32,
    /// Count of the best tokens to draw from; 0 = all.
    pub top_k: usize,
    /// Probability that the best tokens to draw from have together; there is always one.
    pub top_p: f32,
    /// Factor by which characters of the poem so far are made less likely; 1 is off. Doubled words, as 悠悠, are
    /// exempt.
    pub repetition_penalty: f32,
    /// Most tokens to generate.
    pub max_new_tokens: usize,
    /// Whether the newline that ends a poem ends the generation.
    pub stop_at_end: bool,
}

/// Settings with which no kind of repetition is more than twice as frequent as in real poems, with room for chance
/// (`LOG.md`, 2026-12-01).
impl Default for GenerationConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            temperature: 0.9,
            top_k: 0,
            top_p: 0.8,
            repetition_penalty: 1.5,
            max_new_tokens: usize::MAX,
            stop_at_end: true,
        }
    }
}

impl GenerationConfig {
    /// Checks every value.
    ///
    /// # Errors
    ///
    /// [`GenerateError::Setting`] naming the first that is impossible.
    pub fn validate(&self) -> Result<(), GenerateError> {
        let (t, p, r) = (self.temperature, self.top_p, self.repetition_penalty);
        let good = t == 0.0 || (t.is_finite() && t >= MIN_TEMPERATURE);
        let n = self.max_new_tokens;
        for (name, value, good, wanted) in [
            ("temperature", t, good, "0, or a finite number from 0.001 on"),
            ("top-p", p, p > 0.0 && p <= 1.0, "above 0, at most 1"),
            ("repetition penalty", r, r.is_finite() && r >= 1.0, "a finite number from 1 on"),
            ("max new tokens", n as f32, n > 0, "1 or more"),
        ] {
            if !good {
                return Err(GenerateError::Setting { name, value, wanted });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_errors() {
        let good = GenerationConfig::default();
        good.validate().unwrap();
        let with = |change: fn(&mut GenerationConfig)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad
        };
        for (bad, name) in [
            (with(|c| c.temperature = -0.1), "temperature"),
            (with(|c| c.temperature = 1e-30), "temperature"),
            (with(|c| c.temperature = f32::NAN), "temperature"),
            (with(|c| c.temperature = f32::INFINITY), "temperature"),
            (with(|c| c.top_p = 0.0), "top-p"),
            (with(|c| c.top_p = 1.1), "top-p"),
            (with(|c| c.top_p = f32::NAN), "top-p"),
            (with(|c| c.repetition_penalty = 0.5), "repetition"),
            (with(|c| c.repetition_penalty = f32::NAN), "repetition"),
            (with(|c| c.max_new_tokens = 0), "max new tokens"),
        ] {
            let error = bad.validate().unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
