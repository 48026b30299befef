//! One step of the way from logits to a token.

use tang_tokenizer::TokenId;

use crate::candidates::Candidates;

/// Changes or removes candidates.
pub(crate) trait LogitsProcessor: Send + Sync {
    /// `history` is the prompt and all that was generated.
    fn process(&self, history: &[TokenId], candidates: &mut Candidates);

    /// Whether it removes candidates and changes no score. If not, it removes none, and gives a token a score
    /// that rises with its logit.
    fn removes(&self) -> bool {
        false
    }
}
