//! The tokens that may come next.

use tang_tokenizer::TokenId;

/// One token that may come next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    /// The token.
    pub(crate) token: TokenId,
    /// Its score, changed by each processor.
    pub(crate) logit: f32,
}

/// The tokens that may come next; processors change scores and remove tokens, never the last one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Candidates(Vec<Candidate>);

impl Candidates {
    /// These tokens with their logits, in the order given; `logits` has one a token of the
    /// vocabulary.
    pub(crate) fn of_tokens(tokens: impl IntoIterator<Item = TokenId>, logits: &[f32]) -> Self {
        let candidate = |token: TokenId| Candidate {
            token,
            logit: logits[token as usize],
        };
        Self(tokens.into_iter().map(candidate).collect())
    }

    /// All of them.
    pub(crate) fn as_slice(&self) -> &[Candidate] {
        &self.0
    }

    /// All of them, to change their scores.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [Candidate] {
        &mut self.0
    }

    /// How many are left.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the `count` best, best first. Of equal scores the lower token is the better.
    pub(crate) fn keep_best(&mut self, count: usize) {
        if count < self.0.len() {
            self.0.select_nth_unstable_by(count, best_first);
            self.0.truncate(count);
        }
        self.0.sort_unstable_by(best_first);
    }

    /// The best one, if any is left.
    pub(crate) fn best(&self) -> Option<Candidate> {
        self.0.iter().copied().min_by(best_first)
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
        Candidates::of_tokens(0..logits.len() as TokenId, logits)
    }

    pub(crate) fn tokens(candidates: &Candidates) -> Vec<TokenId> {
        candidates.as_slice().iter().map(|c| c.token).collect()
    }

    #[test]
    fn best_first_and_equal_scores_by_token() {
        let mut list = candidates(&[1.0, 3.0, 3.0, 2.0, 3.0]);
        assert_eq!(list.best().unwrap().token, 1);
        list.keep_best(4);
        assert_eq!(tokens(&list), [1, 2, 4, 3]);
        list.keep_best(2);
        assert_eq!(tokens(&list), [1, 2]);
        assert_eq!(Candidates::default().best(), None);
    }
}
