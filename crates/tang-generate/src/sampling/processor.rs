//! The steps from logits to the draw.

use tang_tokenizer::{COMMA_ID, FULL_STOP_ID, NEWLINE, TokenId};

use super::candidates::Candidates;

/// The largest temperature whose quotients keep all digits of a float, so that different logits give different
/// scores.
const MOST: f32 = 1e3;

/// A step that changes the scores of candidates, or removes candidates. Each new score increases
/// with the old one, and at least one candidate is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Processor {
    /// Makes tokens that occurred less likely (Keskar et al., *CTRL*, 2019): a positive logit is divided by the
    /// penalty, a negative one multiplied. Marks and the newline are exempt, since every poem repeats them.
    RepetitionPenalty(f32),
    /// Divides every logit: below 1 the distribution is sharper, above 1 flatter.
    Temperature(f32),
    /// Keeps the k best tokens (Fan et al., *Hierarchical Neural Story Generation*, 2018).
    TopK(usize),
    /// Keeps the smallest set of best tokens whose probability reaches p (Holtzman et al., *The Curious Case of
    /// Neural Text Degeneration*, 2020): the token that crosses p is kept, so one always is.
    TopP(f32),
}

/// The kind of change that a processor makes. It tells the [`Pipeline`](super::pipeline::Pipeline)
/// how many of the best tokens it needs.
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

impl Processor {
    /// The kind of change.
    pub(crate) fn effect(self) -> Effect {
        match self {
            Self::Temperature(temperature) if temperature <= MOST => Effect::Divides,
            Self::Temperature(_) | Self::RepetitionPenalty(_) => Effect::Reorders,
            Self::TopK(k) => Effect::KeepsBest(k),
            Self::TopP(_) => Effect::Removes,
        }
    }

    /// Processes the candidates for the token after `history`, which begins with the prompt.
    pub(crate) fn process(self, history: &[TokenId], candidates: &mut Candidates) {
        match self {
            Self::RepetitionPenalty(penalty) => {
                for candidate in candidates.iter_mut() {
                    let exempt = matches!(candidate.token, NEWLINE | COMMA_ID | FULL_STOP_ID);
                    if exempt || !history.contains(&candidate.token) {
                        continue;
                    }
                    if candidate.logit > 0.0 {
                        candidate.logit /= penalty;
                    } else {
                        candidate.logit *= penalty;
                    }
                }
            }
            Self::Temperature(temperature) => {
                for candidate in candidates.iter_mut() {
                    candidate.logit /= temperature;
                }
            }
            Self::TopK(k) => candidates.keep_best(k),
            Self::TopP(p) => keep_top_p(p, candidates),
        }
    }
}

fn keep_top_p(p: f32, candidates: &mut Candidates) {
    candidates.keep_best(candidates.len());
    let best = candidates.first().map_or(0.0, |best| best.logit);
    let weight = |logit: f32| f64::from(logit - best).exp();
    let weights: Vec<f64> = candidates.iter().map(|c| weight(c.logit)).collect();
    let wanted = f64::from(p) * weights.iter().sum::<f64>();
    let mut reached = 0.0;
    let below = weights.iter().take_while(|weight| {
        reached += *weight;
        reached < wanted
    });
    let count = below.count() + 1;
    candidates.keep_best(count);
}

/// How many tokens of a whole vocabulary top-p keeps at temperature 1, from the logits of each.
pub fn top_p_count(logits: &[f32], p: f32) -> usize {
    let mut candidates = Candidates::all(logits);
    keep_top_p(p, &mut candidates);
    candidates.len()
}

#[cfg(test)]
mod tests {
    use super::{Processor::*, *};
    use crate::sampling::candidates::tests::{candidates, tokens};

    #[test]
    fn lowers_what_occurred_once_and_spares_marks() {
        let mut list = candidates(&[4.0, 4.0, 4.0, 4.0, -4.0, 4.0]);
        RepetitionPenalty(2.0).process(&[0, 1, 2, 3, 3, 4], &mut list);
        assert_eq!(list, candidates(&[4.0, 4.0, 4.0, 2.0, -8.0, 4.0]));
    }

    #[test]
    fn divides() {
        let mut list = candidates(&[1.0, -2.0, 0.0]);
        Temperature(0.5).process(&[], &mut list);
        assert_eq!(list, candidates(&[2.0, -4.0, 0.0]));
    }

    #[test]
    fn keeps_the_best() {
        for (k, kept) in [(1, vec![2]), (3, vec![2, 0, 3]), (9, vec![2, 0, 3, 1])] {
            let mut list = candidates(&[2.0, -1.0, 5.0, 0.5]);
            TopK(k).process(&[], &mut list);
            assert_eq!(tokens(&list), kept, "k = {k}");
        }
    }

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
