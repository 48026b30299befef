//! One step of the way from logits to a token.

use tang_tokenizer::TokenId;

use crate::candidates::Candidates;

/// Changes the scores of candidates, or removes candidates.
pub(crate) trait LogitsProcessor: Send + Sync {
    /// Processes the candidates for the token after `history`, which begins with the prompt.
    fn process(&self, history: &[TokenId], candidates: &mut Candidates);

    /// The kind of change. The [`Pipeline`](crate::pipeline::Pipeline) looks only at as many of the best tokens as
    /// this allows.
    fn effect(&self) -> Effect;
}

/// The change that a processor makes. Each score rises with the score before it, and one candidate at least is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Divides all scores by the same number, none so small that a quotient overflows, so their order stays.
    Divides,
    /// Changes scores, and with them the order.
    Reorders,
    /// Keeps this many of the best and changes no score.
    KeepsBest(usize),
    /// Removes candidates by the scores of all of them and changes no score.
    Removes,
}

impl Effect {
    /// Whether it removes candidates; if not, it changes scores.
    pub(crate) fn removes(self) -> bool {
        matches!(self, Self::KeepsBest(_) | Self::Removes)
    }
}
