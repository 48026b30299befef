//! Every way through the cache gives the logits of a full forward pass.

use std::fmt;

use serde::Serialize;
use tang_engine::Logits;
use tang_generate::{GenerationConfig, Generator, Task};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    logit_gap::{ALLOWED, LogitGap},
};

/// The largest differences from a full forward pass, over all lengths from 1 to the context.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CachePaths {
    /// Lengths that were compared.
    pub lengths: usize,
    /// Prefill of all but the last token, then one decode.
    pub prefill_plus_one: f32,
    /// One token at a time from the first.
    pub token_by_token: f32,
    /// The whole text in two pieces, cut at every place, every position compared.
    pub cut_prefill: f32,
}

impl fmt::Display for CachePaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "At every length from 1 to {}, the logits of a full forward pass differ by at most {:.1e} from prefill + 1 and by at most {:.1e} from one token at a time. A prefill in two pieces, cut at each of {} places, differs by at most {:.1e} at any position ({ALLOWED}).",
            self.lengths,
            self.prefill_plus_one,
            self.token_by_token,
            self.lengths - 1,
            self.cut_prefill
        )
    }
}

/// Compares the four ways on a text that the model writes.
///
/// # Errors
///
/// [`LabError::Logits`] if one differs by more than rounding can make: 1e-4 of the largest logit.
pub fn cache_paths(lab: &LabModel) -> Result<CachePaths, LabError> {
    let text = text_of_whole_context(lab)?;
    let mut full = lab.uncached();
    let mut prefilled = lab.cached();
    let mut stepped = lab.cached();
    let whole = lab.position_logits(&text)?;
    let mut plus_one = LogitGap::NONE;
    let mut token_by_token = LogitGap::NONE;
    for length in 1..=text.len() {
        let (rest, last) = (&text[..length - 1], text[length - 1]);
        let wanted = full.prefill(&[&text[..length]])?;
        let wanted = wanted.row(0);
        LogitGap::between(whole.row(length - 1), wanted).checked("all positions in one pass")?;
        let step = if rest.is_empty() {
            stepped.prefill(&[&[last]])?
        } else {
            stepped.decode(&[last])?
        };
        token_by_token.widen(LogitGap::between(step.row(0), wanted));
        if !rest.is_empty() {
            prefilled.prefill(&[rest])?;
            let step = prefilled.decode(&[last])?;
            plus_one.widen(LogitGap::between(step.row(0), wanted));
        }
    }
    let mut cut_prefill = LogitGap::NONE;
    for cut in 1..text.len() {
        cut_prefill.widen(cut_difference(lab, &text, cut, &whole)?);
    }
    Ok(CachePaths {
        lengths: text.len(),
        prefill_plus_one: plus_one.checked("prefill + 1")?,
        token_by_token: token_by_token.checked("token by token")?,
        cut_prefill: cut_prefill.checked("prefill in two pieces")?,
    })
}

/// The largest difference between `whole` and the logits of `text` in two pieces.
fn cut_difference(
    lab: &LabModel,
    text: &[TokenId],
    cut: usize,
    whole: &Logits,
) -> Result<LogitGap, LabError> {
    let mut decoder = lab.cached();
    decoder.start(1);
    let (first, second) = text.split_at(cut);
    let first = decoder.position_logits(first)?;
    let second = decoder.position_logits(second)?;
    let mut largest = LogitGap::NONE;
    for (got, wanted) in first.rows().chain(second.rows()).zip(whole.rows()) {
        largest.widen(LogitGap::between(got, wanted));
    }
    Ok(largest)
}

/// As many tokens as the model has positions, beginning with the newline.
pub(crate) fn text_of_whole_context(lab: &LabModel) -> Result<Vec<TokenId>, LabError> {
    let config = GenerationConfig {
        stop_at_end: false,
        ..GenerationConfig::default()
    };
    let mut decoder = lab.cached();
    let task = Task::open();
    let mut tokens = Generator::new(&mut *decoder, task, &config)?
        .finish()?
        .tokens()
        .to_vec();
    tokens.truncate(lab.context());
    Ok(tokens)
}
