//! The tokens that may come next.

use tang_kernels::largest;
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

    /// The tokens, in order, that can be among the `count` best when all logits are divided by the same
    /// number, and maybe some others. Those with a logit of minus infinity are none.
    pub(crate) fn contenders(logits: &[f32], count: usize) -> Self {
        let mut contenders = match count < logits.len() {
            true => Self::of_tokens(largest(logits, count), logits),
            false => Self::all(logits),
        };
        contenders
            .0
            .retain(|candidate| candidate.logit > f32::NEG_INFINITY);
        contenders
    }

    /// Every token of the vocabulary, in order.
    pub(crate) fn all(logits: &[f32]) -> Self {
        let candidate = |(logit, token): (&f32, TokenId)| Candidate {
            token,
            logit: *logit,
        };
        Self(logits.iter().zip(0..).map(candidate).collect())
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

    /// Keeps the `count` best, best first. Of equal scores the lower token is the better.
    pub(crate) fn keep_best(&mut self, count: usize) {
        if count == 0 {
            self.0.clear();
        } else if count < self.0.len() {
            self.gather_best(count);
        }
        self.0.sort_unstable_by(best_first);
    }

    /// Keeps the `count` best, in any order, in one pass: most candidates of a large vocabulary are
    /// compared with the worst of the best so far, and that is all.
    fn gather_best(&mut self, count: usize) {
        let room = self.0.len().min(2 * count);
        let mut worst = f32::NEG_INFINITY;
        let mut kept = 0;
        for index in 0..self.0.len() {
            if self.0[index].logit < worst {
                continue;
            }
            self.0.swap(kept, index);
            kept += 1;
            if kept == room {
                let (_, last, _) = self.0[..kept].select_nth_unstable_by(count - 1, best_first);
                worst = last.logit;
                kept = count;
            }
        }
        self.0[..kept].select_nth_unstable_by(count - 1, best_first);
        self.0.truncate(count);
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
        Candidates::all(logits)
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
        list.keep_best(0);
        assert_eq!(list, Candidates::default());
        assert_eq!(list.best(), None);
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
            assert_eq!(
                best(list, count),
                best(candidates(&logits), count),
                "{count}"
            );
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
            assert_eq!(
                list.as_slice(),
                &sorted.as_slice()[..count.min(1000)],
                "{count}"
            );
        }
    }
}
