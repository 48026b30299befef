//! Checks that the results do not depend on the way a cache is used: prompts cut anywhere, caches
//! used again, caches filled to the end.

use std::fmt;

use serde::Serialize;
use tang_engine::{Decoder, EngineError};
use tang_generate::{FinishReason, Generator, Sequence, Task};
use tang_tokenizer::{NEWLINE, TokenId};

use crate::{
    LabError, LabModel,
    cache::{
        cases::{TestCase, endless, test_cases},
        comparison::{Exactness, LogitGap, Other, Tolerance},
    },
};

/// The largest differences from a full forward pass, over all lengths from 1 to the context.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct CachePaths {
    lengths: usize,
    /// Prefill of all tokens but the last, then one decode.
    prefill_plus_one: f32,
    /// One token at a time from the first.
    token_by_token: f32,
    /// The whole text in two pieces, cut at every place, every position compared.
    cut_prefill: f32,
    #[serde(skip)]
    tolerance: Tolerance,
}

impl fmt::Display for CachePaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "At every length from 1 to {}, the logits of a full forward pass differ by at most {:.1e} from prefill \
            + 1 and by at most {:.1e} from one token at a time. A prefill in two pieces, cut at each of {} places, \
            differs by at most {:.1e} at any position ({}).",
            self.lengths,
            self.prefill_plus_one,
            self.token_by_token,
            self.lengths - 1,
            self.cut_prefill,
            self.tolerance
        )
    }
}

/// Compares the four ways on a text that the model writes.
pub(crate) fn cache_paths(lab: &LabModel) -> Result<CachePaths, LabError> {
    let text = text_of_whole_context(lab)?;
    let whole = lab.position_logits(&text)?;
    let tolerance = lab.tolerance();
    let mut one_pass = LogitGap::new("all positions in one pass", tolerance);
    let mut token_by_token = LogitGap::new("token by token", tolerance);
    let mut plus_one = LogitGap::new("prefill + 1", tolerance);
    let mut cut_prefill = LogitGap::new("prefill in two pieces", tolerance);
    let (mut full, mut prefilled, mut stepped) = (lab.uncached(), lab.cached(), lab.cached());
    stepped.start(1);
    for (cut, last) in text.iter().enumerate() {
        let wanted = full.prefill(&[&text[..=cut]])?;
        let wanted = wanted.row(0);
        one_pass.compare(whole.row(cut), wanted)?;
        token_by_token.compare(stepped.decode(&[*last])?.row(0), wanted)?;
        if cut == 0 {
            continue;
        }
        let (before, after) = text.split_at(cut);
        prefilled.prefill(&[before])?;
        plus_one.compare(prefilled.decode(&[*last])?.row(0), wanted)?;
        prefilled.start(1);
        let first = prefilled.position_logits(before)?;
        let second = prefilled.position_logits(after)?;
        for (got, wanted) in first.rows().chain(second.rows()).zip(whole.rows()) {
            cut_prefill.compare(got, wanted)?;
        }
    }
    Ok(CachePaths {
        lengths: text.len(),
        prefill_plus_one: plus_one.largest,
        token_by_token: token_by_token.largest,
        cut_prefill: cut_prefill.largest,
        tolerance,
    })
}

/// As many tokens as the model has positions, beginning with the newline.
pub(crate) fn text_of_whole_context(lab: &LabModel) -> Result<Vec<TokenId>, LabError> {
    let (mut decoder, config) = (lab.cached(), endless(usize::MAX));
    let generator = Generator::new(&mut *decoder, Task::open(), &config)?;
    let mut tokens = generator.finish()?.tokens().to_vec();
    tokens.truncate(lab.context());
    Ok(tokens)
}

/// Generations one after another, and generations that fill the context.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FreshRuns {
    /// Count of generations by a used decoder, each equal to that by a new one.
    repeated: usize,
    /// One entry per total length around the context.
    limits: Vec<ContextLimit>,
}

/// A generation up to a total number of tokens, the first newline counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct ContextLimit {
    asked: usize,
    /// Tokens that were generated, the same with the cache and without.
    got: usize,
    finish_reason: &'static str,
}

impl fmt::Display for FreshRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} generations, each after another one by the same decoder or after one of the other kind, are those \
            of a new decoder. At the end of the context, with the cache and without:",
            self.repeated
        )?;
        for limit in &self.limits {
            let (asked, got, reason) = (limit.asked, limit.got, limit.finish_reason);
            write!(f, " {asked} tokens asked, {got} came ({reason});")?;
        }
        write!(f, " one token more is refused.")
    }
}

/// Runs each of a few tasks with a used decoder, and up to the last position.
pub(crate) fn fresh_runs(lab: &LabModel) -> Result<FreshRuns, LabError> {
    let (mut cached, mut full) = (lab.cached(), lab.uncached());
    let mut repeated = 0;
    for case in test_cases(lab, 8)? {
        let fresh = generate(&mut *lab.cached(), &case)?;
        // At the first run the decoder has the tokens of the case before, at the second those of
        // this case.
        for _ in 0..2 {
            if generate(&mut *cached, &case)?.tokens() != fresh.tokens() {
                return Err(LabError::Wrong(format!(
                    "{}: a decoder that was used before gives another poem than a new one",
                    case.name
                )));
            }
        }
        let other = Other::Generator(case.generator(&mut *full)?);
        Exactness::new(1).compare(&case, &mut *cached, other, lab.tolerance())?;
        repeated += 3;
    }
    let lengths = lab.context() - 1..=lab.context() + 2;
    let limits = lengths.map(|asked| limit(lab, asked));
    let limits = limits.collect::<Result<_, _>>()?;
    for decoder in [cached, full] {
        refuses_more(lab, decoder)?;
    }
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
        config: endless(asked - 1),
    };
    Exactness::new(1).cached_and_full(lab, &case)?;
    // The last token is chosen from the logits at the last position and needs no position itself.
    let got = asked.min(lab.context() + 1);
    let reason = if got == asked { FinishReason::MaxNewTokens } else { FinishReason::ContextFull };
    for mut decoder in [lab.cached(), lab.uncached()] {
        let sequence = generate(&mut *decoder, &case)?;
        let came = sequence.tokens().len();
        if came != got || sequence.finish_reason() != Some(reason) {
            let what = format!("{asked} tokens were asked for and {came} came");
            return Err(wrong_limit(lab, &what));
        }
    }
    Ok(ContextLimit { asked, got, finish_reason: reason.name() })
}

/// A token after the last position is an error, never a panic or a silent crop.
fn refuses_more(lab: &LabModel, mut decoder: Box<dyn Decoder>) -> Result<(), LabError> {
    decoder.prefill(&[&vec![NEWLINE; lab.context()]])?;
    match decoder.decode(&[NEWLINE]) {
        Err(EngineError::ContextFull { .. } | EngineError::TextTooLong { .. }) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(wrong_limit(lab, "one token more was taken")),
    }
}

fn wrong_limit(lab: &LabModel, what: &str) -> LabError {
    LabError::Wrong(format!("a context of {} tokens: {what}", lab.context()))
}
