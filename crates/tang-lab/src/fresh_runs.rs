//! A run leaves nothing behind, and the last position is the end.

use std::fmt;

use serde::Serialize;
use tang_engine::Decoder;
use tang_engine::EngineError;
use tang_generate::{FinishReason, GenerationConfig, Generator, Sequence, Task};
use tang_tokenizer::{NEWLINE, TokenId};

use crate::{
    LabError, LabModel,
    exactness::{Exactness, compare},
    test_cases::{TestCase, test_cases},
};

/// What came of generations one after another, and of those that fill the context.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FreshRuns {
    /// Generations after others, each equal to one by a new decoder.
    pub repeated: usize,
    /// One entry a total length around the context.
    pub limits: Vec<ContextLimit>,
}

/// A generation up to a total number of tokens, the first newline counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ContextLimit {
    /// Tokens that were asked for.
    pub asked: usize,
    /// Tokens that came, the same with the cache and without.
    pub got: usize,
    /// Why it ended.
    pub finish_reason: &'static str,
}

impl fmt::Display for FreshRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} generations, each after another one by the same decoder or after one of the other kind, are what a new decoder gives. At the end of the context, with the cache and without:",
            self.repeated
        )?;
        for limit in &self.limits {
            let ContextLimit {
                asked,
                got,
                finish_reason,
            } = limit;
            write!(f, " {asked} tokens asked, {got} came ({finish_reason});")?;
        }
        write!(f, " one token more is refused.")
    }
}

/// Runs each of a few tasks after others, and up to the last position.
///
/// # Errors
///
/// [`LabError::Leftover`] if a run depends on the one before; [`LabError::Limit`] if the end of
/// the context is not where it should be.
pub fn fresh_runs(lab: &LabModel) -> Result<FreshRuns, LabError> {
    let mut cached = lab.cached();
    let mut full = lab.uncached();
    let cases = test_cases(lab, 8)?;
    let mut repeated = 0;
    for case in &cases {
        let fresh = generate(&mut *lab.cached(), case)?;
        // The first decoder still holds the case before; the second runs after the first.
        let again = [generate(&mut *cached, case)?, generate(&mut *cached, case)?];
        for run in again {
            if run.tokens() != fresh.tokens() {
                return Err(LabError::Leftover {
                    what: case.name.clone(),
                });
            }
            repeated += 1;
        }
        // Ties are judged as everywhere.
        let mut result = Exactness::of(1);
        compare(&mut *cached, &mut *full, case, &mut result)?;
        repeated += 1;
    }
    let context = lab.context();
    let limits = [context - 1, context, context + 1, context + 2]
        .into_iter()
        .map(|asked| limit(lab, asked))
        .collect::<Result<_, _>>()?;
    refuses_more(lab, &mut *cached)?;
    refuses_more(lab, &mut *full)?;
    Ok(FreshRuns { repeated, limits })
}

fn generate(decoder: &mut dyn Decoder, case: &TestCase) -> Result<Sequence, LabError> {
    let generator = Generator::new(decoder, case.task.clone(), &case.config)?;
    Ok(generator.finish()?)
}

/// Generates `asked` tokens in all, with the cache and without.
fn limit(lab: &LabModel, asked: usize) -> Result<ContextLimit, LabError> {
    let case = TestCase {
        name: format!("{asked} tokens"),
        task: Task::open(),
        config: GenerationConfig {
            max_new_tokens: asked - 1,
            stop_at_end: false,
            ..GenerationConfig::default()
        },
    };
    let mut cached = lab.cached();
    let mut full = lab.uncached();
    compare(&mut *cached, &mut *full, &case, &mut Exactness::of(1))?;
    let ended = |decoder: &mut dyn FnMut() -> Result<Sequence, LabError>| {
        let sequence = decoder()?;
        let reason = sequence.finish_reason();
        Ok::<_, LabError>((sequence.tokens().len(), reason))
    };
    let with = ended(&mut || generate(&mut *cached, &case))?;
    let without = ended(&mut || generate(&mut *full, &case))?;
    // The last token is chosen at the last position and needs none itself.
    let most = lab.context() + 1;
    let wanted = match asked <= most {
        true => (asked, Some(FinishReason::MaxNewTokens)),
        false => (most, Some(FinishReason::ContextFull)),
    };
    for got in [with, without] {
        if got != wanted {
            return Err(LabError::Limit {
                context: lab.context(),
                what: format!("{asked} tokens were asked for and {} came", got.0),
            });
        }
    }
    Ok(ContextLimit {
        asked,
        got: wanted.0,
        finish_reason: wanted.1.map_or("", FinishReason::name),
    })
}

/// A token behind the last position is an error, never a panic or a silent crop.
fn refuses_more(lab: &LabModel, decoder: &mut dyn Decoder) -> Result<(), LabError> {
    let text: Vec<TokenId> = vec![NEWLINE; lab.context()];
    decoder.prefill(&[&text])?;
    match decoder.decode(&[NEWLINE]) {
        Err(EngineError::ContextFull { .. } | EngineError::TextTooLong { .. }) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(LabError::Limit {
            context: lab.context(),
            what: "one token more was taken".to_owned(),
        }),
    }
}
