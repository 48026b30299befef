//! What may stand at each place of a poem.

use tang_tokenizer::TokenId;

use crate::Rule;

/// A rule that a poem keeps whatever the model thinks of it.
///
/// Rules compose: each one removes tokens from a common mask.
pub(crate) trait Constraint: Send + Sync {
    /// Its name in messages.
    fn rule(&self) -> Rule;

    /// Removes the tokens that must not follow `poem`, the tokens since the poem began.
    fn restrict(&self, poem: &[TokenId], mask: &mut Mask);
}

/// The tokens of a vocabulary that may come next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mask {
    allowed: Vec<bool>,
}

impl Mask {
    /// Every token of a vocabulary of this size.
    pub(crate) fn all(vocab_size: usize) -> Self {
        Self {
            allowed: vec![true; vocab_size],
        }
    }

    /// Removes every token but this one; if it had been removed, nothing is left.
    pub(crate) fn keep_only(&mut self, token: TokenId) {
        let kept = self.allowed[token as usize];
        self.allowed.fill(false);
        self.allowed[token as usize] = kept;
    }

    /// Removes this token.
    pub(crate) fn remove(&mut self, token: TokenId) {
        self.allowed[token as usize] = false;
    }

    /// Removes every token that is not `kept`.
    pub(crate) fn retain(&mut self, kept: impl Fn(TokenId) -> bool) {
        for (token, allowed) in (0..).zip(&mut self.allowed) {
            *allowed = *allowed && kept(token);
        }
    }

    /// Removes every token that is not in `set`, one flag a token.
    ///
    /// # Panics
    ///
    /// If there is not one flag a token.
    pub(crate) fn keep_set(&mut self, set: &[bool]) {
        assert_eq!(set.len(), self.allowed.len(), "one flag a token");
        for (allowed, keep) in self.allowed.iter_mut().zip(set) {
            *allowed &= keep;
        }
    }

    /// How many tokens are left.
    pub(crate) fn count(&self) -> usize {
        self.allowed.iter().filter(|allowed| **allowed).count()
    }

    /// The logits of the tokens that are left, and minus infinity for the others.
    pub(crate) fn hide(&self, logits: &[f32]) -> Vec<f32> {
        let pairs = logits.iter().zip(&self.allowed);
        pairs
            .map(|(logit, allowed)| if *allowed { *logit } else { f32::NEG_INFINITY })
            .collect()
    }

    /// The tokens that are left, in order.
    #[cfg(test)]
    pub(crate) fn tokens(&self) -> impl Iterator<Item = TokenId> {
        (0..)
            .zip(&self.allowed)
            .filter_map(|(token, allowed)| allowed.then_some(token))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The tokens that a constraint leaves after `poem`.
    pub(crate) fn allowed(
        constraint: &dyn Constraint,
        poem: &[TokenId],
        vocab_size: usize,
    ) -> Vec<TokenId> {
        let mut mask = Mask::all(vocab_size);
        constraint.restrict(poem, &mut mask);
        mask.tokens().collect()
    }

    #[test]
    fn rules_compose() {
        let mut mask = Mask::all(4);
        mask.keep_set(&[true, false, true, true]);
        assert_eq!(mask.tokens().collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(mask.count(), 3);
        let hidden = f32::NEG_INFINITY;
        assert_eq!(mask.hide(&[1.0; 4]), [1.0, hidden, 1.0, 1.0]);
        mask.remove(3);
        assert_eq!(mask.tokens().collect::<Vec<_>>(), [0, 2]);
        mask.retain(|token| token != 0);
        assert_eq!(mask.tokens().collect::<Vec<_>>(), [2]);
        mask.keep_only(2);
        assert_eq!(mask.tokens().collect::<Vec<_>>(), [2]);
        mask.keep_only(3);
        assert_eq!(mask.tokens().count(), 0);
    }
}
