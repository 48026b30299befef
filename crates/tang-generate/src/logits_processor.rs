//! One step of the way from logits to a token.

use tang_tokenizer::TokenId;

use crate::Candidates;

/// Changes or removes candidates.
pub trait LogitsProcessor: Send + Sync {
    /// `history` is the prompt and all that was generated.
    fn process(&self, history: &[TokenId], candidates: &mut Candidates);
}
