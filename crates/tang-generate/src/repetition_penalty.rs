//! Repetition penalty.

use tang_tokenizer::{COMMA, FULL_STOP, NEWLINE, TokenId};

use crate::{
    candidates::Candidates,
    logits_processor::{Effect, LogitsProcessor},
};

/// Makes tokens that occurred less likely (Keskar et al., *CTRL*, 2019): a positive logit is
/// divided by the penalty, a negative one multiplied. Marks and the newline are left alone, since
/// every poem repeats them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RepetitionPenalty(pub f32);

impl LogitsProcessor for RepetitionPenalty {
    fn process(&self, history: &[TokenId], candidates: &mut Candidates) {
        for candidate in candidates.as_mut_slice() {
            let exempt = matches!(candidate.token, NEWLINE | COMMA | FULL_STOP);
            if !exempt && history.contains(&candidate.token) {
                if candidate.logit > 0.0 {
                    candidate.logit /= self.0;
                } else {
                    candidate.logit *= self.0;
                }
            }
        }
    }

    fn effect(&self) -> Effect {
        Effect::Reorders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::candidates;

    #[test]
    fn lowers_what_occurred_once_and_spares_marks() {
        let mut list = candidates(&[4.0, 4.0, 4.0, 4.0, -4.0, 4.0]);
        RepetitionPenalty(2.0).process(&[0, 1, 2, 3, 3, 4], &mut list);
        assert_eq!(list, candidates(&[4.0, 4.0, 4.0, 2.0, -8.0, 4.0]));
    }
}
