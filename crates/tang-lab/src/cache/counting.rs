//! Count of tokens that go through the model, compared with the formulas.

use std::{fmt, time::Instant};

use serde::Serialize;
use tang_engine::{Decoder, EngineError};
use tang_generate::{GenerateError, Generator, Task};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    cache::cases::endless,
    page::{count, table, times},
    stats::mean,
    subject::Subject,
};

/// Tokens of the prompt and new tokens, on the trained model.
const TRAINED: [[usize; 2]; 3] = [[1, 32], [1, 64], [1, 120]];
/// A longer prompt and its continuation, and the context that they need.
const LONG: [usize; 2] = [183, 64];
const LONG_CONTEXT: usize = 256;

/// One of the two ways to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Cached,
    Uncached,
}

impl Way {
    pub fn decoder(self, lab: &LabModel) -> Box<dyn Decoder> {
        match self {
            Self::Cached => lab.cached(),
            Self::Uncached => lab.uncached(),
        }
    }

    /// Tokens through the model for P prompt tokens and N new ones. With the cache P + (N - 1): no
    /// later token attends to the last new one, so it does not go through. Without it P + (P + 1) +
    /// ... + (P + N - 1) = P N + N (N - 1) / 2.
    pub fn tokens(self, [prompt, new]: [usize; 2]) -> usize {
        match self {
            Self::Cached => prompt + (new - 1),
            Self::Uncached => prompt * new + new * (new - 1) / 2,
        }
    }
}

/// A timed generation of a fixed count of tokens.
pub(crate) struct TimedGeneration {
    /// The new tokens.
    pub generated: Vec<TokenId>,
    /// Milliseconds of each step, sampling included. The first is the prefill.
    pub steps_ms: Vec<f64>,
    /// Count of tokens that went through the model.
    pub forwarded: usize,
}

impl TimedGeneration {
    /// Generates `new` tokens with the default settings; the end of a poem does not stop it.
    pub fn run(decoder: &mut dyn Decoder, task: &Task, new: usize) -> Result<Self, GenerateError> {
        // The last new token needs no position.
        let (length, context) = (task.prompt().len() + new - 1, decoder.context());
        if length > context {
            return Err(EngineError::TextTooLong { length, context }.into());
        }
        let before = decoder.forwarded_tokens();
        let mut steps_ms = Vec::with_capacity(new);
        let mut started = Instant::now();
        let mut generator = Generator::new(decoder, task.clone(), &endless(new))?;
        for step in &mut generator {
            step?;
            let now = Instant::now();
            steps_ms.push((now - started).as_secs_f64() * 1e3);
            started = now;
        }
        Ok(Self {
            generated: generator.finish()?.generated().to_vec(),
            steps_ms,
            forwarded: decoder.forwarded_tokens() - before,
        })
    }

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

    /// The count of tokens that went through the model.
    pub fn counted(&self, way: Way, prompt: usize) -> Result<usize, LabError> {
        let texts = [prompt, self.generated.len()];
        let (wanted, counted) = (way.tokens(texts), self.forwarded);
        if wanted == counted {
            return Ok(counted);
        }
        let way = if way == Way::Cached { "with" } else { "without" };
        Err(LabError::Count(format!(
            "{} new tokens from a prompt of {prompt} {way} the cache: {counted} tokens went through the model \
            where the formula has {wanted}",
            texts[1]
        )))
    }
}

/// Counts that were checked against the formulas.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Counting {
    rows: Vec<TokenCount>,
}

/// The tokens that went through the model for one prompt and its continuation.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct TokenCount {
    subject: Subject,
    /// Tokens of the prompt, the newline included.
    prompt: usize,
    new: usize,
    cached: usize,
    uncached: usize,
    /// `uncached` over `cached`.
    ratio: f64,
}

/// Counts the cases that the model has positions for, and a longer one on random weights.
pub(crate) fn counting(lab: &LabModel) -> Result<Counting, LabError> {
    let (random, subject) = lab.with_random_weights(LONG_CONTEXT)?;
    let fitting = TRAINED.into_iter().filter(|case| Way::Cached.tokens(*case) <= lab.context());
    let trained = fitting.map(|case| (lab, lab.subject(), case));
    let rows = trained.chain([(&random, subject, LONG)]).map(|(lab, subject, [prompt, new])| {
        let task = lab.prompt(prompt)?;
        let counted = |way: Way| {
            TimedGeneration::run(&mut *way.decoder(lab), &task, new)?.counted(way, prompt)
        };
        let (cached, uncached) = (counted(Way::Cached)?, counted(Way::Uncached)?);
        let ratio = uncached as f64 / cached as f64;
        Ok(TokenCount { subject, prompt, new, cached, uncached, ratio })
    });
    Ok(Counting { rows: rows.collect::<Result<_, LabError>>()? })
}

impl fmt::Display for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row: &TokenCount| {
            let (subject, prompt, new) = (row.subject, row.prompt, row.new);
            let (cached, uncached) = (count(row.cached), count(row.uncached));
            let ratio = times(row.ratio);
            format!("{subject} | {prompt} | {new} | {cached} | {uncached} | {ratio}")
        };
        let header = ":model | prompt P | new N | with the cache: P + (N - 1) | without: P N + N (N - 1) / 2 | ratio";
        f.write_str(&table(header, self.rows.iter().map(row)))
    }
}

#[cfg(test)]
mod tests {
    use crate::cache::{fake_decoder::FakeDecoder, tests::small};
    use tang_checkpoint::ModelConfig;

    use super::*;

    #[test]
    fn formulas_of_a_prompt_of_183_and_64_new_tokens() {
        assert_eq!(Way::Cached.tokens([183, 64]), 246);
        assert_eq!(Way::Uncached.tokens([183, 64]), 13_728);
        assert_eq!(Way::Uncached.tokens([1, 3]), 1 + 2 + 3);
    }

    #[test]
    fn real_decoders_count_what_the_formulas_say() {
        let counting = counting(&small(ModelConfig::tang_4l)).unwrap();
        let rows: Vec<_> = counting
            .rows
            .iter()
            .map(|row| (row.prompt, row.new, row.cached, row.uncached))
            .collect();
        // The small model has 48 positions: 64 and 120 characters do not fit.
        assert_eq!(rows, [(1, 32, 32, 528), (183, 64, 246, 13_728)]);
        let text = counting.to_string();
        let last = "| random weights, context 256 | 183 | 64 | 246 | 13,728 | 56x |";
        assert!(text.ends_with(last), "{text}");
    }

    #[test]
    fn one_token_too_many_is_an_error() {
        let count = |extra| {
            let mut decoder = FakeDecoder { extra_forwarded: extra, ..FakeDecoder::default() };
            TimedGeneration::run(&mut decoder, &Task::open(), 10)?.counted(Way::Cached, 1)
        };
        assert_eq!(count(0).unwrap(), 10);
        let error = count(1).unwrap_err();
        assert!(matches!(error, LabError::Count(_)), "{error}");
        let message = error.to_string();
        assert!(
            message.contains("11 tokens went through the model where the formula has 10"),
            "{message}"
        );
    }

    #[test]
    fn a_run_is_divided_into_first_later_and_late() {
        let run = TimedGeneration {
            generated: Vec::new(),
            steps_ms: vec![8.0, 1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 6.0],
            forwarded: 0,
        };
        assert_eq!(run.total_ms(), 27.0);
        assert_eq!(run.first_ms(), 8.0);
        assert_eq!(run.later_ms(), 19.0 / 7.0);
        assert_eq!(run.late_ms(), 5.0);
    }
}
