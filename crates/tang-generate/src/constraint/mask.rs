//! The tokens that may come next.

use tang_tokenizer::TokenId;

/// The tokens of a vocabulary that may come next, as one flag per token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mask(Vec<bool>);

impl Mask {
    /// Every token of a vocabulary of this size.
    pub(crate) fn all(vocab_size: usize) -> Self {
        Self(vec![true; vocab_size])
    }

    /// Removes every token but this one; if it had been removed, none is left.
    pub(crate) fn keep_only(&mut self, token: TokenId) {
        self.retain(|other| other == token);
    }

    /// Removes this token.
    pub(crate) fn remove(&mut self, token: TokenId) {
        self.0[token as usize] = false;
    }

    /// Removes every token that is not `kept`.
    pub(crate) fn retain(&mut self, kept: impl Fn(TokenId) -> bool) {
        for (token, allowed) in (0..).zip(&mut self.0) {
            *allowed = *allowed && kept(token);
        }
    }

    /// Removes every token whose value `keep` rejects. `values` has one value per token.
    pub(crate) fn keep_by<T: Copy>(&mut self, values: &[T], keep: impl Fn(T) -> bool) {
        for (allowed, value) in self.0.iter_mut().zip(values) {
            *allowed &= keep(*value);
        }
    }

    /// Count of tokens that are left.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().filter(|allowed| **allowed).count()
    }

    /// The logits of the tokens that are left, and minus infinity for the others.
    ///
    /// # Panics
    ///
    /// If there is not one logit per token.
    pub(crate) fn hide(&self, logits: &[f32]) -> Vec<f32> {
        assert_eq!(logits.len(), self.0.len(), "one logit per token");
        let pairs = logits.iter().zip(&self.0);
        pairs.map(|(logit, allowed)| if *allowed { *logit } else { f32::NEG_INFINITY }).collect()
    }

    /// The tokens that are left, in order.
    #[cfg(test)]
    pub(crate) fn tokens(&self) -> impl Iterator<Item = TokenId> {
        let flags = (0..).zip(&self.0);
        flags.filter_map(|(token, allowed)| allowed.then_some(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_compose() {
        let mut mask = Mask::all(4);
        mask.keep_by(&[2, 0, 1, 5], |value| value > 0);
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
