//! Temperature.

use tang_tokenizer::TokenId;

use crate::{
    candidates::Candidates,
    logits_processor::{Effect, LogitsProcessor},
};

/// Above it, quotients can be too small for all digits of a float, and then different logits give equal scores.
const MOST: f32 = 1e3;

/// Divides every logit: below 1 the distribution is sharper, above 1 flatter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Temperature(pub f32);

impl LogitsProcessor for Temperature {
    fn process(&self, _: &[TokenId], candidates: &mut Candidates) {
        for candidate in candidates.as_mut_slice() {
            candidate.logit /= self.0;
        }
    }

    fn effect(&self) -> Effect {
        if self.0 <= MOST {
            Effect::Divides
        } else {
            Effect::Reorders
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::candidates;

    #[test]
    fn divides() {
        let mut list = candidates(&[1.0, -2.0, 0.0]);
        Temperature(0.5).process(&[], &mut list);
        assert_eq!(list, candidates(&[2.0, -4.0, 0.0]));
    }
}
