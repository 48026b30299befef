//! Whether rounding errors of the logits explain a different choice.

use tang_tokenizer::TokenId;

use super::{
    candidates::{Candidate, Candidates},
    pipeline::Pipeline,
};

/// The data of one choice, without its logits.
pub(crate) struct Tie<'a> {
    pub(crate) history: &'a [TokenId],
    pub(crate) pipeline: &'a Pipeline,
    /// Index of the step in its generation.
    pub(crate) step: usize,
}

impl Tie<'_> {
    /// Whether the choice could be `token` if each logit were off by up to `gap`. With the logits
    /// in its favour, the token must pass top-k and top-p; and each candidate that always beats it
    /// in the draw must fail to pass with the logits against that candidate. So every choice that
    /// rounding can explain is found, and hardly ever another one.
    pub(crate) fn can_be(&self, candidates: &Candidates, token: TokenId, gap: f32) -> bool {
        // `next_down` and `next_up` cover the rounding of the sum.
        let lows = self.scored(candidates, |logit| (logit - gap).next_down());
        let highs = self.scored(candidates, |logit| (logit + gap).next_up());
        let Some(own) = lows.iter().position(|c| c.token == token) else {
            return false;
        };
        let own_high = highs[own].logit;
        // In its favour, only the candidates that cannot score lower are above it. Those below
        // score as high as they can, which lowers the probability above it.
        let best_case = meet(&lows, &highs, |index, low, high| {
            if index == own {
                high
            } else if low > own_high {
                low
            } else {
                high.min(own_high.next_down())
            }
        });
        if !self.keeps(best_case, token) {
            return false;
        }
        let drawn_lows = self.drawn(&lows);
        let drawn_high = self.drawn(&highs)[own].logit;
        let is_rival = |index: usize| index != own && drawn_lows[index].logit > drawn_high;
        let rivals = (0..lows.len()).filter(|index| is_rival(*index));
        // If the highest rival can be removed, so can the others.
        let Some(rival) = rivals.max_by(|a, b| lows[*a].logit.total_cmp(&lows[*b].logit)) else {
            return true;
        };
        let Candidate { token: rival, logit: rival_low } = lows[rival];
        let worst_case =
            meet(
                &lows,
                &highs,
                |index, low, high| {
                    if high > rival_low && !is_rival(index) { high } else { low }
                },
            );
        own_high > rival_low && !self.keeps(worst_case, rival)
    }

    /// The candidates in the order of their tokens, with changed logits, after the processors that change scores.
    fn scored(&self, candidates: &Candidates, change: impl Fn(f32) -> f32) -> Candidates {
        let mut candidates = candidates.clone();
        for candidate in candidates.iter_mut() {
            candidate.logit = change(candidate.logit);
        }
        self.process(&mut candidates, false);
        candidates
    }

    /// Whether processors keep a token among these candidates.
    fn keeps(&self, mut candidates: Candidates, token: TokenId) -> bool {
        self.process(&mut candidates, true);
        candidates.iter().any(|candidate| candidate.token == token)
    }

    /// Runs the processors that remove candidates, or those that change scores.
    fn process(&self, candidates: &mut Candidates, removes: bool) {
        for processor in &self.pipeline.processors {
            if processor.effect().removes() == removes {
                processor.process(self.history, candidates);
            }
        }
    }

    /// The scores of the draw, in the order of the tokens.
    fn drawn(&self, candidates: &Candidates) -> Candidates {
        let mut candidates = candidates.clone();
        self.pipeline.sampler.add_noise(self.step, &mut candidates);
        candidates
    }
}

/// Candidates whose scores `score` computes from the index, the lowest and the highest score of
/// each.
fn meet(
    lows: &Candidates,
    highs: &Candidates,
    score: impl Fn(usize, f32, f32) -> f32,
) -> Candidates {
    let mut met = lows.clone();
    for (index, (low, high)) in met.iter_mut().zip(highs.iter()).enumerate() {
        low.logit = score(index, low.logit, high.logit);
    }
    met
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
    use tang_tokenizer::Vocabulary;

    use crate::{GenerationConfig, Sequence, Task};

    const TOKENS: usize = 60;

    fn vocabulary() -> Vocabulary {
        Vocabulary::from_texts([('一'..).take(TOKENS - 3).collect::<String>().as_str()])
    }

    fn sequence(config: &GenerationConfig) -> Sequence {
        let task = Task::continuation("一丁七", &vocabulary()).unwrap();
        Sequence::new(task, config).unwrap()
    }

    fn chosen(config: &GenerationConfig, logits: &[f32]) -> u32 {
        sequence(config).advance(logits).unwrap().token
    }

    fn settings() -> Vec<GenerationConfig> {
        let setting = |temperature, top_k, top_p, repetition_penalty| GenerationConfig {
            temperature,
            top_k,
            top_p,
            repetition_penalty,
            ..GenerationConfig::default()
        };
        vec![
            setting(0.0, 0, 1.0, 1.0),
            setting(1.0, 0, 1.0, 1.0),
            setting(1.0, 5, 1.0, 1.0),
            setting(1.0, 0, 0.85, 1.0),
            setting(0.7, 20, 0.9, 1.0),
            setting(1.5, 7, 0.6, 1.3),
            setting(0.0, 0, 1.0, 1.5),
        ]
    }

    #[test]
    fn all_choices_within_the_gap_are_found_and_hardly_any_other() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut turned, mut found, mut reached) = (0, 0, 0);
        for round in 0..100 {
            for config in settings() {
                let config = GenerationConfig { seed: round, ..config };
                let logits: [f32; TOKENS] = std::array::from_fn(|_| rng.random_range(-4.0..3.0));
                let gap = 0.2;
                let own = chosen(&config, &logits);
                let mut others = std::collections::BTreeSet::new();
                for trial in 0..8 * TOKENS {
                    // One token up; of the others, those above some score down and the rest up, or the other way
                    // round, or all one way; and whatever wins instead is pushed down.
                    let (border, token) = (rng.random_range(-4.0..4.0), trial / 8);
                    let mut off = logits.map(|logit| match (trial % 8, logit > border) {
                        (0, _) | (1 | 3 | 5, true) | (2 | 4 | 6, false) => logit - gap,
                        _ => logit + gap,
                    });
                    off[token] = logits[token] + gap;
                    loop {
                        let winner = chosen(&config, &off);
                        others.insert(winner);
                        let lowest = logits[winner as usize] - gap;
                        if winner as usize == token || off[winner as usize] == lowest {
                            break;
                        }
                        off[winner as usize] = lowest;
                    }
                }
                let sequence = sequence(&config);
                for token in &others {
                    assert!(sequence.could_choose(&logits, *token, gap), "{config:?}");
                }
                turned += usize::from(others.iter().any(|token| *token != own));
                reached += others.len();
                let all = (0..TOKENS as u32).filter(|t| sequence.could_choose(&logits, *t, gap));
                found += all.count();
                let exactly =
                    (0..TOKENS as u32).filter(|t| sequence.could_choose(&logits, *t, 0.0));
                assert_eq!(exactly.collect::<Vec<_>>(), [own], "{config:?}");
            }
        }
        assert!(turned > 100, "{turned}");
        // Chance misses some that can be reached.
        assert!(found * 100 < reached * 105, "{found} {reached}");
    }

    /// Logits of the tokens after the marks with these probabilities; the rest has none.
    fn logits(probabilities: &[f64]) -> Vec<f32> {
        let mut logits = vec![-100.0; TOKENS];
        for (logit, probability) in logits[10..].iter_mut().zip(probabilities) {
            *logit = probability.ln() as f32;
        }
        logits
    }

    #[test]
    fn each_border_makes_ties() {
        let gap = 1e-5;
        let base = GenerationConfig {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            ..GenerationConfig::default()
        };
        let top_p = GenerationConfig { top_p: 0.8, ..base.clone() };
        let top_k = GenerationConfig { top_k: 2, ..base.clone() };
        // The two before the third sum to a little less than 0.8, or a little more; or to a lot more.
        let at_top_p = [0.799_999_9, 0.800_000_1].map(|sum| logits(&[0.5, sum - 0.5, 1.0 - sum]));
        let not_at_top_p = logits(&[0.5, 0.301, 0.199]);
        // The third is as likely as the second, but for rounding; or less so.
        let at_top_k = [-1e-7, 1e-7].map(|more| logits(&[0.5, 0.25, 0.25 + more]));
        let not_at_top_k = logits(&[0.5, 0.26, 0.24]);
        for (config, at, not) in [(top_p, at_top_p, not_at_top_p), (top_k, at_top_k, not_at_top_k)]
        {
            let mut turned = 0;
            for seed in 0..200 {
                let config = GenerationConfig { seed, ..config.clone() };
                let choices = at.each_ref().map(|logits| chosen(&config, logits));
                turned += usize::from(choices[0] != choices[1]);
                for logits in &at {
                    for choice in choices {
                        assert!(sequence(&config).could_choose(logits, choice, gap), "{seed}");
                    }
                }
                let third = sequence(&config).could_choose(&not, 12, gap);
                assert!(!third, "{config:?}");
            }
            assert!(turned > 10, "{turned}");
        }
        // The draw itself, and no draw at all.
        let greedy = GenerationConfig { temperature: 0.0, ..base };
        let sequence = sequence(&greedy);
        let near = logits(&[0.5, 0.500_001]);
        assert!([10, 11].iter().all(|t| sequence.could_choose(&near, *t, gap)));
        assert!(!sequence.could_choose(&logits(&[0.5, 0.501]), 10, gap));
    }

    #[test]
    fn what_the_rules_forbid_is_no_tie() {
        let vocabulary = vocabulary();
        let layout = tang_prosody::Layout::from(tang_prosody::Form::WuJue);
        let task = Task::form(layout, &vocabulary).unwrap();
        let sequence = Sequence::new(task, &GenerationConfig::default()).unwrap();
        // A mark cannot begin a line, however near it is.
        assert!(!sequence.could_choose(&[0.0; TOKENS], 1, 1.0));
        assert!(sequence.could_choose(&[0.0; TOKENS], 3, 10.0));
    }
}
