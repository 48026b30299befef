//! One generation with a clock beside it.

use std::time::Instant;

use tang_engine::{Decoder, EngineError};
use tang_generate::{GenerateError, GenerationConfig, Generator, Task};
use tang_tokenizer::TokenId;

use crate::average::mean;

/// What a generation of a fixed number of tokens gave, and when.
pub(crate) struct TimedGeneration {
    /// The new tokens.
    pub generated: Vec<TokenId>,
    /// Milliseconds of each step, sampling included. The first is the prefill.
    pub steps_ms: Vec<f64>,
    /// Tokens that went through the model.
    pub forwarded_tokens: usize,
}

impl TimedGeneration {
    /// Generates `new_tokens` tokens with the default settings, on past the end of a poem.
    ///
    /// # Errors
    ///
    /// [`EngineError::TextTooLong`] if the model has fewer positions than that takes.
    pub fn run(
        decoder: &mut dyn Decoder,
        task: &Task,
        new_tokens: usize,
    ) -> Result<Self, GenerateError> {
        let config = Self::config(new_tokens);
        // The last new token needs no position.
        let (length, context) = (task.prompt().len() + new_tokens - 1, decoder.context());
        if length > context {
            return Err(EngineError::TextTooLong { length, context }.into());
        }
        let before = decoder.forwarded_tokens();
        let mut steps_ms = Vec::with_capacity(new_tokens);
        let mut started = Instant::now();
        let mut generator = Generator::new(decoder, task.clone(), &config)?;
        for step in &mut generator {
            step?;
            let now = Instant::now();
            steps_ms.push((now - started).as_secs_f64() * 1e3);
            started = now;
        }
        let generated = generator.finish()?.generated().to_vec();
        Ok(Self {
            generated,
            steps_ms,
            forwarded_tokens: decoder.forwarded_tokens() - before,
        })
    }

    /// The settings of such a generation.
    pub fn config(new_tokens: usize) -> GenerationConfig {
        GenerationConfig {
            max_new_tokens: new_tokens,
            stop_at_end: false,
            ..GenerationConfig::default()
        }
    }

    /// Milliseconds of the whole.
    pub fn total_ms(&self) -> f64 {
        self.steps_ms.iter().sum()
    }

    /// Milliseconds until the first token: the prefill.
    pub fn first_ms(&self) -> f64 {
        self.steps_ms[0]
    }

    /// Mean milliseconds of a token after the first; NaN if there is no other.
    pub fn later_ms(&self) -> f64 {
        mean(&self.steps_ms[1..]).unwrap_or(f64::NAN)
    }

    /// Mean milliseconds of a token in the last quarter.
    pub fn late_ms(&self) -> f64 {
        let steps = self.steps_ms.len();
        mean(&self.steps_ms[steps - steps.div_ceil(4)..]).expect("there is a first")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_divided_into_first_later_and_late() {
        let run = TimedGeneration {
            generated: Vec::new(),
            steps_ms: vec![8.0, 1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 6.0],
            forwarded_tokens: 0,
        };
        assert_eq!(run.total_ms(), 27.0);
        assert_eq!(run.first_ms(), 8.0);
        assert_eq!(run.later_ms(), 19.0 / 7.0);
        assert_eq!(run.late_ms(), 5.0);
    }
}
