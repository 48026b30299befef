//! Top-k.

use tang_tokenizer::TokenId;

use crate::{
    candidates::Candidates,
    logits_processor::{Effect, LogitsProcessor},
};

/// Keeps the k best tokens (Fan et al., *Hierarchical Neural Story Generation*, 2018).
#[derive(Debug, Clone, Copy)]
pub(crate) struct TopK(pub usize);

impl LogitsProcessor for TopK {
    fn process(&self, _: &[TokenId], candidates: &mut Candidates) {
        candidates.keep_best(self.0);
    }

    fn effect(&self) -> Effect {
        Effect::KeepsBest(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, tokens};

    #[test]
    fn keeps_the_best() {
        for (k, kept) in [(1, vec![2]), (3, vec![2, 0, 3]), (9, vec![2, 0, 3, 1])] {
            let mut list = candidates(&[2.0, -1.0, 5.0, 0.5]);
            TopK(k).process(&[], &mut list);
            assert_eq!(tokens(&list), kept, "k = {k}");
        }
    }
}
