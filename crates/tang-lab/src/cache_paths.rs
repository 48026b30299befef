//! Every way through the cache gives the logits of a full forward pass.

use std::fmt;

use serde::Serialize;
use tang_generate::{
    CachedDecoder, Decoder, FullDecoder, GenerationConfig, Generator, Logits, Task, position_logits,
};
use tang_model::KvCache;
use tang_tokenizer::TokenId;

use crate::{LabError, LabModel};

/// The largest difference that rounding may make.
const TOLERANCE: f32 = 1e-4;

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
            "At every length from 1 to {}, the logits of a full forward pass differ by at most {:.1e} from prefill + 1 and by at most {:.1e} from one token at a time. A prefill in two pieces, cut at each of {} places, differs by at most {:.1e} at any position (allowed: {TOLERANCE:.0e}).",
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
/// [`LabError::Logits`] if one differs by more than 1e-4.
pub fn cache_paths(lab: &LabModel) -> Result<CachePaths, LabError> {
    let text = text_of_whole_context(lab)?;
    let mut full = FullDecoder::new(&lab.model);
    let mut prefilled = CachedDecoder::new(&lab.model);
    let mut stepped = CachedDecoder::new(&lab.model);
    let whole = position_logits(&lab.model, &text, None)?;
    let mut paths = CachePaths {
        lengths: text.len(),
        prefill_plus_one: 0.0,
        token_by_token: 0.0,
        cut_prefill: 0.0,
    };
    for length in 1..=text.len() {
        let (rest, last) = (&text[..length - 1], text[length - 1]);
        let wanted = full.prefill(&[&text[..length]])?;
        let wanted = wanted.row(0);
        let at_once = difference(whole.row(length - 1), wanted);
        within_tolerance("all positions in one pass", at_once)?;
        let step = if rest.is_empty() {
            stepped.prefill(&[&[last]])?
        } else {
            stepped.decode(&[last])?
        };
        widen(&mut paths.token_by_token, difference(step.row(0), wanted));
        if !rest.is_empty() {
            prefilled.prefill(&[rest])?;
            let plus_one = prefilled.decode(&[last])?;
            widen(
                &mut paths.prefill_plus_one,
                difference(plus_one.row(0), wanted),
            );
        }
    }
    for cut in 1..text.len() {
        widen(
            &mut paths.cut_prefill,
            cut_difference(lab, &text, cut, &whole)?,
        );
    }
    for (what, difference) in [
        ("prefill + 1", paths.prefill_plus_one),
        ("token by token", paths.token_by_token),
        ("prefill in two pieces", paths.cut_prefill),
    ] {
        within_tolerance(what, difference)?;
    }
    Ok(paths)
}

/// The largest difference between `whole` and the logits of `text` in two pieces.
fn cut_difference(
    lab: &LabModel,
    text: &[TokenId],
    cut: usize,
    whole: &Logits,
) -> Result<f32, LabError> {
    let model = &lab.model;
    let mut cache = KvCache::new(model.config(), 1, text.len(), &model.device());
    let (first, second) = text.split_at(cut);
    let first = position_logits(model, first, Some(&mut cache))?;
    let second = position_logits(model, second, Some(&mut cache))?;
    let mut largest = 0.0;
    for (got, wanted) in first.rows().chain(second.rows()).zip(whole.rows()) {
        widen(&mut largest, difference(got, wanted));
    }
    Ok(largest)
}

/// As many tokens as the model has positions, beginning with the newline.
pub(crate) fn text_of_whole_context(lab: &LabModel) -> Result<Vec<TokenId>, LabError> {
    let config = GenerationConfig {
        stop_at_end: false,
        ..GenerationConfig::default()
    };
    let mut decoder = CachedDecoder::new(&lab.model);
    let task = Task::open();
    let mut tokens = Generator::new(&mut decoder, task, &config, lab.context())?
        .finish()?
        .tokens()
        .to_vec();
    tokens.truncate(lab.context());
    Ok(tokens)
}

/// Fails if a difference is more than rounding, or no number.
pub(crate) fn within_tolerance(what: &str, difference: f32) -> Result<(), LabError> {
    if difference.is_nan() || difference > TOLERANCE {
        return Err(LabError::Logits {
            what: what.to_owned(),
            difference,
            tolerance: TOLERANCE,
        });
    }
    Ok(())
}

/// The largest difference; NaN if any number is.
pub(crate) fn difference(a: &[f32], b: &[f32]) -> f32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |mut largest, difference| {
            widen(&mut largest, difference);
            largest
        })
}

/// Takes a difference into the largest one; NaN stays.
pub(crate) fn widen(largest: &mut f32, difference: f32) {
    if difference.is_nan() || difference > *largest {
        *largest = difference;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_is_a_difference() {
        assert_eq!(difference(&[1.0, 2.0], &[1.5, 2.25]), 0.5);
        assert!(difference(&[1.0, f32::NAN], &[1.0, 2.0]).is_nan());
        assert!(difference(&[f32::NAN, 1.0], &[1.0, 2.0]).is_nan());
    }
}
