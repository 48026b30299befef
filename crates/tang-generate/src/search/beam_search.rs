//! Search for likely poems.

use std::cmp::Ordering;

use tang_engine::Decoder;
use tang_kernels::log_sum_exp;
use tang_tokenizer::TokenId;

use crate::{GenerateError, Sequence, generation::rows::Rows, sampling::candidates::Candidate};

/// Beam search (Lowerre, *The Harpy Speech Recognition System*, 1976): at each step the `beams`
/// likeliest continuations of all kept poems are kept, and the decoder's rows follow them. A poem
/// that ends is kept as finished, and one beam fewer goes on; a poem without an allowed next token
/// is dropped. Returns the finished poems, best first by the mean log-probability per token.
///
/// Log-probabilities are those of the model, for the tokens that the constraints of `start` allow, and for the places
/// of its words those of their chances; sampling settings have no effect. One beam is greedy decoding.
///
/// # Errors
///
/// Those of [`Task::fit`](crate::Task::fit), [`Decoder::reserve`] and [`Decoder::append`], and
/// [`GenerateError::NothingAllowed`] if the constraints leave no poem at all.
///
/// # Panics
///
/// If `beams` is 0.
pub fn beam_search(
    decoder: &mut dyn Decoder,
    mut start: Sequence,
    beams: usize,
) -> Result<Vec<Sequence>, GenerateError> {
    assert!(beams > 0, "no beam");
    start.begin(decoder.context())?;
    decoder.reserve(beams, start.most_tokens())?;
    let mut rows = Rows::new(vec![start]);
    let mut finished: Vec<Sequence> = Vec::new();
    loop {
        let logits = rows.forward(decoder)?;
        let width = beams - finished.len();
        let mut failure = None;
        // Each poem with each decision about the words that it is to have, and its row.
        let mut branches = Vec::new();
        let mut next = Vec::new();
        for (row, (sequence, logits)) in rows.sequences.iter().zip(logits.rows()).enumerate() {
            for branch in sequence.branches(logits) {
                match continuations(branches.len(), &branch, logits, width) {
                    Ok(continuations) => next.extend(continuations),
                    Err(error) => failure = Some(error),
                }
                branches.push((row, branch));
            }
        }
        if let Some(error) = failure.filter(|_| next.is_empty() && finished.is_empty()) {
            return Err(error);
        }
        next.sort_by(Continuation::likeliest_first);
        next.truncate(width);
        let mut kept = Vec::new();
        let mut grown = Vec::new();
        for Continuation { branch, token, log_prob, forced, .. } in next {
            let (row, mut sequence) = branches[branch].clone();
            sequence.push(token, log_prob, forced);
            if sequence.finish_reason().is_some() {
                finished.push(sequence);
            } else {
                kept.push(row);
                grown.push(sequence);
            }
        }
        if kept.is_empty() {
            finished.sort_by(|a, b| b.mean_log_prob().total_cmp(&a.mean_log_prob()));
            return Ok(finished);
        }
        decoder.select(&kept);
        rows.sequences = grown;
    }
}

/// One more token after one of the kept poems.
struct Continuation {
    /// Index of the poem with a decision about its words.
    branch: usize,
    token: TokenId,
    log_prob: f64,
    forced: bool,
    /// Score of the whole.
    total: f64,
}

impl Continuation {
    /// A total order, so that the same scores always give the same beams.
    fn likeliest_first(&self, other: &Self) -> Ordering {
        let place = |one: &Self| (one.branch, one.token);
        let by_total = other.total.total_cmp(&self.total);
        by_total.then_with(|| place(self).cmp(&place(other)))
    }
}

/// The `width` likeliest continuations of one poem; no more of one poem can be kept.
fn continuations(
    branch: usize,
    sequence: &Sequence,
    logits: &[f32],
    width: usize,
) -> Result<Vec<Continuation>, GenerateError> {
    let (mut candidates, forced) = sequence.candidates(logits, width)?;
    candidates.keep_best(width);
    let norm = log_sum_exp(logits);
    let begins_word = sequence.begins_word();
    let continuation = |&Candidate { token, logit }: &Candidate| {
        let log_prob = f64::from(logit) - norm;
        let total = sequence.score() + if begins_word { 0.0 } else { log_prob };
        Continuation { branch, token, log_prob, forced, total }
    };
    Ok(candidates.iter().map(continuation).collect())
}
