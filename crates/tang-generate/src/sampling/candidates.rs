//! The tokens that may come next, with their scores.

use std::ops::{Deref, DerefMut};

use tang_kernels::largest;
use tang_tokenizer::TokenId;

/// A token that may come next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) token: TokenId,
    /// Its score: the logit, changed by each processor.
    pub(crate) logit: f32,
}

/// The tokens that may come next.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Candidates(Vec<Candidate>);

impl Candidates {
    /// These tokens with their logits, in the order given; `logits` has one per token of the vocabulary.
    pub(crate) fn of_tokens(tokens: impl IntoIterator<Item = TokenId>, logits: &[f32]) -> Self {
        let candidate = |token: TokenId| Candidate { token, logit: logits[token as usize] };
        Self(tokens.into_iter().map(candidate).collect())
    }

    /// Every token of the vocabulary, in order.
    pub(crate) fn all(logits: &[f32]) -> Self {
        Self::of_tokens(0..logits.len() as TokenId, logits)
    }

    /// The tokens, in order, that can be among the `count` best after all logits are divided by the
    /// temperature, and maybe some others. A token with a logit of minus infinity is never among
    /// them.
    pub(crate) fn contenders(logits: &[f32], count: usize) -> Self {
        let mut contenders = if count < logits.len() {
            Self::of_tokens(largest(logits, count), logits)
        } else {
            Self::all(logits)
        };
        contenders.0.retain(|candidate| candidate.logit > f32::NEG_INFINITY);
        contenders
    }

    /// The `count` best, best first. Among equal scores the lower token is better.
    pub(crate) fn best(&self, count: usize) -> Self {
        let logits: Vec<f32> = self.iter().map(|candidate| candidate.logit).collect();
        let indices = largest(&logits, count).into_iter();
        let mut best: Vec<Candidate> = indices.map(|index| self[index as usize]).collect();
        if 0 < count && count < best.len() {
            best.select_nth_unstable_by(count - 1, best_first);
        }
        best.truncate(count);
        best.sort_unstable_by(best_first);
        Self(best)
    }

    /// Keeps the `count` [`best`](Self::best).
    pub(crate) fn keep_best(&mut self, count: usize) {
        *self = self.best(count);
    }
}

impl Deref for Candidates {
    type Target = [Candidate];

    fn deref(&self) -> &[Candidate] {
        &self.0
    }
}

impl DerefMut for Candidates {
    fn deref_mut(&mut self) -> &mut [Candidate] {
        &mut self.0
    }
}

/// A total order, so that the same scores always give the same choice.
fn best_first(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn candidates(logits: &[f32]) -> Candidates {
        Candidates::all(logits)
    }

    pub(crate) fn tokens(candidates: &Candidates) -> Vec<TokenId> {
        candidates.iter().map(|c| c.token).collect()
    }

    #[test]
    fn best_first_and_equal_scores_by_token() {
        let mut list = candidates(&[1.0, 3.0, 3.0, 2.0, 3.0]);
        list.keep_best(4);
        assert_eq!(tokens(&list), [1, 2, 4, 3]);
        list.keep_best(2);
        assert_eq!(tokens(&list), [1, 2]);
        list.keep_best(1);
        assert_eq!(tokens(&list), [1]);
        list.keep_best(0);
        assert_eq!(list, Candidates::default());
    }

    #[test]
    fn contenders_are_enough_for_the_best() {
        let mut logits: Vec<f32> = (0..3000).map(|i| (i * i * 31 % 97) as f32).collect();
        let best = |mut list: Candidates, count| {
            list.keep_best(count);
            list
        };
        for count in [1, 2, 50, 2999, 3000, usize::MAX] {
            let list = Candidates::contenders(&logits, count);
            assert_eq!(best(list, count), best(candidates(&logits), count), "{count}");
        }
        logits[1..].fill(f32::NEG_INFINITY);
        for count in [1, 50, usize::MAX] {
            assert_eq!(tokens(&Candidates::contenders(&logits, count)), [0]);
        }
    }

    #[test]
    fn the_best_of_many_are_those_that_sorting_gives() {
        // Few different scores, so that many are equal.
        let logits: Vec<f32> = (0..1000).map(|i| (i * i * 31 % 97) as f32 - 50.0).collect();
        let mut sorted = candidates(&logits);
        sorted.0.sort_by(best_first);
        for count in [1, 2, 50, 499, 500, 501, 999, 1000, 1001] {
            let mut list = candidates(&logits);
            list.keep_best(count);
            assert_eq!(list[..], sorted[..count.min(1000)], "{count}");
        }
    }
}
