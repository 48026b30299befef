//! The steps from logits to the draw.

use tang_kernels::log_sum_exp;
use tang_tokenizer::{COMMA_ID, FULL_STOP_ID, NEWLINE, TokenId};

use super::candidates::Candidates;

/// The largest temperature whose quotients keep all digits of a float, so that different logits give different
/// scores.
const MOST: f32 = 1e3;

/// A step that changes the scores of candidates, or removes candidates. Each new score increases
/// with the old one, and at least one candidate is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Processor {
    /// Makes characters of the poem so far less likely (Keskar et al., *CTRL*, 2019): a positive logit is divided by
    /// the penalty, a negative one multiplied. Exempt are marks and the newline, since every poem repeats them, and
    /// the last character while it has occurred once, so that it can be doubled, as 悠悠.
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
    /// Lowers the scores of some tokens of the history and changes no other score.
    LowersHistory,
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
            Self::Temperature(_) => Effect::Reorders,
            Self::RepetitionPenalty(_) => Effect::LowersHistory,
            Self::TopK(k) => Effect::KeepsBest(k),
            Self::TopP(_) => Effect::Removes,
        }
    }

    /// Processes the candidates for the token after `history`, which begins with the prompt.
    pub(crate) fn process(self, history: &[TokenId], candidates: &mut Candidates) {
        match self {
            Self::RepetitionPenalty(penalty) => {
                let poem = history.rsplit(|token| *token == NEWLINE).next().unwrap_or_default();
                let repeated = repeated(poem);
                for candidate in candidates.iter_mut() {
                    if !repeated.get(candidate.token as usize).is_some_and(|repeated| *repeated) {
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

/// One flag per token up to the last of the poem: whether it is a character of the poem that would not be doubled.
fn repeated(poem: &[TokenId]) -> Vec<bool> {
    let mut repeated = vec![false; poem.iter().max().map_or(0, |last| *last as usize + 1)];
    for token in poem {
        repeated[*token as usize] = !matches!(*token, COMMA_ID | FULL_STOP_ID);
    }
    if let Some((last, before)) = poem.split_last()
        && !before.contains(last)
    {
        repeated[*last as usize] = false;
    }
    repeated
}

fn keep_top_p(p: f32, candidates: &mut Candidates) {
    // Few candidates are kept as a rule, so the others are not sorted.
    let mut sorted = 64;
    let mut best = candidates.best(sorted);
    let Some(first) = best.first().map(|c| c.logit) else { return };
    let below_first: Vec<f32> = candidates.iter().map(|c| c.logit - first).collect();
    let wanted = f64::from(p) * log_sum_exp(&below_first).exp();
    loop {
        let mut reached = 0.0;
        let below = best.iter().take_while(|c| {
            reached += f64::from(c.logit - first).exp();
            reached < wanted
        });
        let count = below.count() + 1;
        if count <= best.len() || best.len() == candidates.len() {
            best.keep_best(count);
            *candidates = best;
            return;
        }
        sorted *= 4;
        best = candidates.best(sorted);
    }
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
    fn lowers_the_characters_of_the_poem_and_spares_marks() {
        let mut list = candidates(&[4.0, 4.0, 4.0, 4.0, -4.0, 4.0, 4.0]);
        RepetitionPenalty(2.0).process(&[0, 1, 2, 3, 3, 4, 5], &mut list);
        assert_eq!(list, candidates(&[4.0, 4.0, 4.0, 2.0, -8.0, 4.0, 4.0]));
        RepetitionPenalty(2.0).process(&[0, 3, 4, 5, 1, 0, 6, 2], &mut list);
        assert_eq!(list, candidates(&[4.0, 4.0, 4.0, 2.0, -8.0, 4.0, 2.0]), "one poem only");
    }

    #[test]
    fn a_character_may_be_doubled_once() {
        for (poem, lowered) in [
            (&[0, 3, 4][..], &[3][..]),
            (&[0, 3, 4, 4], &[3, 4]),
            (&[0, 4, 3, 4], &[3, 4]),
            (&[0, 3, 4, 1], &[3, 4]),
        ] {
            let mut list = candidates(&[4.0; 6]);
            RepetitionPenalty(2.0).process(poem, &mut list);
            let tokens = list.iter().filter(|c| c.logit < 4.0).map(|c| c.token);
            assert_eq!(tokens.collect::<Vec<_>>(), lowered, "{poem:?}");
        }
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
