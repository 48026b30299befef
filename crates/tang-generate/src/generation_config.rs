//! How tokens are chosen.

use crate::GenerateError;

/// Below it, dividing a logit could leave the range of a float.
const MIN_TEMPERATURE: f32 = 1e-3;

/// Settings of one generation.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationConfig {
    /// The same seed gives the same poem: with the cache or without, alone or in a batch.
    pub seed: u64,
    /// Divides the logits; 0 always takes the best token.
    pub temperature: f32,
    /// Keeps this many of the best tokens; 0 keeps all.
    pub top_k: usize,
    /// Keeps the best tokens that together have this probability, and always one.
    pub top_p: f32,
    /// Makes tokens that occurred less likely; 1 is off.
    pub repetition_penalty: f32,
    /// Tokens to generate at the most.
    pub max_new_tokens: usize,
    /// Whether the newline that ends a poem ends the generation.
    pub stop_at_end: bool,
}

impl Default for GenerationConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            temperature: 0.85,
            top_k: 50,
            top_p: 0.85,
            repetition_penalty: 1.0,
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
        let check = |name, value: f32, good: bool, wanted| match good {
            true => Ok(()),
            false => Err(GenerateError::Setting {
                name,
                value,
                wanted,
            }),
        };
        let t = self.temperature;
        let possible = t == 0.0 || (t.is_finite() && t >= MIN_TEMPERATURE);
        check(
            "temperature",
            t,
            possible,
            "0, or a finite number from 0.001 on",
        )?;
        let p = self.top_p;
        check("top-p", p, p > 0.0 && p <= 1.0, "above 0, at most 1")?;
        let r = self.repetition_penalty;
        check(
            "repetition penalty",
            r,
            r.is_finite() && r >= 1.0,
            "a finite number from 1 on",
        )?;
        let n = self.max_new_tokens;
        check("max new tokens", n as f32, n > 0, "1 or more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_errors() {
        let good = GenerationConfig::default();
        good.validate().unwrap();
        for (bad, name) in [
            (
                GenerationConfig {
                    temperature: -0.1,
                    ..good.clone()
                },
                "temperature",
            ),
            (
                GenerationConfig {
                    temperature: 1e-30,
                    ..good.clone()
                },
                "temperature",
            ),
            (
                GenerationConfig {
                    temperature: f32::NAN,
                    ..good.clone()
                },
                "temperature",
            ),
            (
                GenerationConfig {
                    temperature: f32::INFINITY,
                    ..good.clone()
                },
                "temperature",
            ),
            (
                GenerationConfig {
                    top_p: 0.0,
                    ..good.clone()
                },
                "top-p",
            ),
            (
                GenerationConfig {
                    top_p: 1.1,
                    ..good.clone()
                },
                "top-p",
            ),
            (
                GenerationConfig {
                    top_p: f32::NAN,
                    ..good.clone()
                },
                "top-p",
            ),
            (
                GenerationConfig {
                    repetition_penalty: 0.5,
                    ..good.clone()
                },
                "repetition",
            ),
            (
                GenerationConfig {
                    repetition_penalty: f32::NAN,
                    ..good.clone()
                },
                "repetition",
            ),
            (
                GenerationConfig {
                    max_new_tokens: 0,
                    ..good
                },
                "max new tokens",
            ),
        ] {
            let error = bad.validate().unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
