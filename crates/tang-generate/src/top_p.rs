//! Top-p.

use tang_tokenizer::TokenId;

use crate::{
    candidates::Candidates,
    logits_processor::{Effect, LogitsProcessor},
};

/// Keeps the smallest set of best tokens whose probability reaches p (Holtzman et al., *The Curious
/// Case of Neural Text Degeneration*, 2020): the token that crosses p is kept, so one always is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TopP(pub f32);

impl LogitsProcessor for TopP {
    fn process(&self, _: &[TokenId], candidates: &mut Candidates) {
        candidates.keep_best(candidates.len());
        let Some(best) = candidates.best() else {
            return;
        };
        let weights: Vec<f64> = candidates
            .as_slice()
            .iter()
            .map(|c| f64::from(c.logit - best.logit).exp())
            .collect();
        let wanted = f64::from(self.0) * weights.iter().sum::<f64>();
        let mut reached = 0.0;
        let below = weights
            .iter()
            .take_while(|weight| {
                reached += *weight;
                reached < wanted
            })
            .count();
        candidates.keep_best(below + 1);
    }

    fn effect(&self) -> Effect {
        Effect::Removes
    }
}

/// How many tokens of a whole vocabulary top-p keeps at temperature 1, from the logits of each.
pub fn top_p_count(logits: &[f32], p: f32) -> usize {
    let mut candidates = Candidates::all(logits);
    TopP(p).process(&[], &mut candidates);
    candidates.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, tokens};

    #[test]
    fn keeps_the_token_that_crosses_p() {
        let logits = [0.2_f32, 0.5, 0.05, 0.25].map(f32::ln);
        for (p, kept) in [
            (1e-6, vec![1]),
            (0.49, vec![1]),
            (0.51, vec![1, 3]),
            (0.74, vec![1, 3]),
            (0.76, vec![1, 3, 0]),
            (0.96, vec![1, 3, 0, 2]),
            (1.0, vec![1, 3, 0, 2]),
        ] {
            let mut list = candidates(&logits);
            TopP(p).process(&[], &mut list);
            assert_eq!(tokens(&list), kept, "p = {p}");
            assert_eq!(top_p_count(&logits, p), kept.len(), "p = {p}");
        }
    }
}
