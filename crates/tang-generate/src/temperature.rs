//! Temperature.

use tang_tokenizer::TokenId;

use crate::{candidates::Candidates, logits_processor::LogitsProcessor};

/// Divides every logit: below 1 the distribution is sharper, above 1 flatter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Temperature(pub f32);

impl LogitsProcessor for Temperature {
    fn process(&self, _: &[TokenId], candidates: &mut Candidates) {
        for candidate in candidates.as_mut_slice() {
            candidate.logit /= self.0;
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
