//! How many tokens go through the model, counted and compared with the formulas.

use std::fmt;

use serde::Serialize;
use tang_engine::Decoder;
use tang_generate::Task;

use crate::{
    LabError, LabModel, Subject,
    table::{table, thousands, times},
    timed_generation::TimedGeneration,
};

/// Tokens of the prompt and new tokens, on the trained model.
const TRAINED: [(usize, usize); 3] = [(1, 32), (1, 64), (1, 120)];
/// A longer prompt and its continuation, and the context that they need.
const LONG: (usize, usize) = (183, 64);
const LONG_CONTEXT: usize = 256;

/// Tokens through the model with the cache, for `prompt` + `new` tokens: P + (N - 1). The last new
/// token is never looked back at, so it need not go through.
pub(crate) fn cached_tokens(prompt: usize, new: usize) -> usize {
    prompt + (new - 1)
}

/// Tokens through the model without a cache: P, P + 1, ..., P + N - 1, which is
/// P N + N (N - 1) / 2 in all.
pub(crate) fn uncached_tokens(prompt: usize, new: usize) -> usize {
    prompt * new + new * (new - 1) / 2
}

/// Counts that agree with the formulas.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counting {
    /// One entry a case.
    pub rows: Vec<TokenCount>,
}

/// The tokens that went through the model for one prompt and continuation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TokenCount {
    /// The network.
    pub subject: Subject,
    /// Tokens of the prompt, the newline included.
    pub prompt: usize,
    /// Tokens generated.
    pub new: usize,
    /// Counted with the cache.
    pub cached: usize,
    /// Counted without.
    pub uncached: usize,
    /// `uncached` over `cached`.
    pub ratio: f64,
}

/// Counts the cases that the model has positions for, and a longer one on random weights.
///
/// # Errors
///
/// [`LabError::Count`] if a count is not what its formula says.
pub fn counting(lab: &LabModel) -> Result<Counting, LabError> {
    let mut rows = TRAINED
        .into_iter()
        .filter(|(prompt, new)| cached_tokens(*prompt, *new) <= lab.context())
        .map(|case| token_count(lab, lab.subject(), case))
        .collect::<Result<Vec<_>, _>>()?;
    let (random, subject) = lab.with_random_weights(LONG_CONTEXT)?;
    rows.push(token_count(&random, subject, LONG)?);
    Ok(Counting { rows })
}

fn token_count(
    lab: &LabModel,
    subject: Subject,
    (prompt, new): (usize, usize),
) -> Result<TokenCount, LabError> {
    let task = lab.prompt(prompt)?;
    let cached = counted(
        "with the cache",
        &mut *lab.cached(),
        (&task, new),
        cached_tokens(prompt, new),
    )?;
    let uncached = counted(
        "without the cache",
        &mut *lab.uncached(),
        (&task, new),
        uncached_tokens(prompt, new),
    )?;
    Ok(TokenCount {
        subject,
        prompt,
        new,
        cached,
        uncached,
        ratio: uncached as f64 / cached as f64,
    })
}

/// Generates and gives the number of tokens that went through the model, which must be `wanted`.
fn counted(
    what: &'static str,
    decoder: &mut dyn Decoder,
    (task, new): (&Task, usize),
    wanted: usize,
) -> Result<usize, LabError> {
    let got = TimedGeneration::run(decoder, task, new)?.forwarded_tokens;
    forwarded_as_wanted(what, [task.prompt().len(), new], wanted, got)?;
    Ok(got)
}

/// Fails if another number of tokens went through the model than its formula says.
pub(crate) fn forwarded_as_wanted(
    what: &'static str,
    [prompt, new]: [usize; 2],
    wanted: usize,
    got: usize,
) -> Result<(), LabError> {
    if wanted == got {
        return Ok(());
    }
    Err(LabError::Count {
        what: format!("{new} new tokens from a prompt of {prompt} {what}"),
        counted: got,
        expected: wanted,
    })
}

impl fmt::Display for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows.iter().map(|row| {
            [
                row.subject.to_string(),
                row.prompt.to_string(),
                row.new.to_string(),
                thousands(row.cached),
                thousands(row.uncached),
                times(row.ratio),
            ]
        });
        let header = [
            "model",
            "prompt P",
            "new N",
            "with the cache: P + (N - 1)",
            "without: P N + N (N - 1) / 2",
            "ratio",
        ];
        f.write_str(&table(header, rows))
    }
}

#[cfg(test)]
mod tests {
    use tang_checkpoint::ModelConfig;

    use super::*;
    use crate::{fake_decoder::FakeDecoder, lab_model::tests::small};

    #[test]
    fn formulas_of_a_prompt_of_183_and_64_new_tokens() {
        assert_eq!(cached_tokens(183, 64), 246);
        assert_eq!(uncached_tokens(183, 64), 13_728);
        assert_eq!(uncached_tokens(1, 3), 1 + 2 + 3);
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
            let mut decoder = FakeDecoder {
                extra_forwarded: extra,
                ..FakeDecoder::default()
            };
            counted("fake", &mut decoder, (&Task::open(), 10), 10)
        };
        assert_eq!(count(0).unwrap(), 10);
        let error = count(1).unwrap_err();
        let numbers = matches!(
            error,
            LabError::Count {
                expected: 10,
                counted: 11,
                ..
            }
        );
        assert!(numbers, "{error}");
    }
}
