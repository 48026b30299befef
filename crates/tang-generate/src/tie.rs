//! Whether rounding can have made a choice.

use tang_tokenizer::TokenId;

use crate::{
    candidates::{Candidate, Candidates},
    pipeline::Pipeline,
};

/// One choice, all but its logits.
pub(crate) struct Tie<'a> {
    pub(crate) history: &'a [TokenId],
    pub(crate) pipeline: &'a Pipeline,
    /// Which step of the generation, from 0.
    pub(crate) step: usize,
}

impl Tie<'_> {
    /// Whether the choice could be `token` if each logit were off by up to `gap`. It must be among the
    /// candidates that are left where that suits it best; and every candidate that beats it in the draw must
    /// not be where that suits it least. So a choice that rounding turned at any border, or at several, is
    /// always found; one that it did not is hardly ever taken for such.
    pub(crate) fn can_be(&self, candidates: &Candidates, token: TokenId, gap: f32) -> bool {
        // Beyond what rounds away when the gap is added.
        let lows = self.scored(candidates, |logit| (logit - gap).next_down());
        let highs = self.scored(candidates, |logit| (logit + gap).next_up());
        let place = |c: &Candidate| c.token == token;
        let Some(own) = lows.as_slice().iter().position(place) else {
            return false;
        };
        let own_high = highs.as_slice()[own].logit;
        // Above it only those that cannot be below; and those below weigh as much as they can.
        let best_case = meet(&lows, &highs, |index, low, high| match low > own_high {
            _ if index == own => high,
            true => low,
            false => high.min(own_high.next_down()),
        });
        if !self.kept(best_case).as_slice().iter().any(place) {
            return false;
        }
        let drawn_lows = self.drawn(lows.clone());
        let drawn_high = self.drawn(highs.clone()).as_slice()[own].logit;
        let is_rival =
            |index: usize| index != own && drawn_lows.as_slice()[index].logit > drawn_high;
        let low = |index: &usize| lows.as_slice()[*index].logit;
        let rivals = (0..lows.len()).filter(|index| is_rival(*index));
        // If the likeliest of them can be left out, so can the others.
        let Some(rival) = rivals.max_by(|a, b| low(a).total_cmp(&low(b))) else {
            return true;
        };
        let (rival_low, rival) = (low(&rival), lows.as_slice()[rival].token);
        let worst_case = meet(&lows, &highs, |index, low, high| {
            match high > rival_low && !is_rival(index) {
                true => high,
                false => low,
            }
        });
        let kept = self.kept(worst_case);
        own_high > rival_low && kept.as_slice().iter().all(|c| c.token != rival)
    }

    /// The candidates in the order of their tokens, with changed logits, as far as processors change scores.
    fn scored(&self, candidates: &Candidates, change: impl Fn(f32) -> f32) -> Candidates {
        let mut candidates = candidates.clone();
        for candidate in candidates.as_mut_slice() {
            candidate.logit = change(candidate.logit);
        }
        for processor in self
            .pipeline
            .processors
            .iter()
            .filter(|p| !p.effect().removes())
        {
            processor.process(self.history, &mut candidates);
        }
        candidates
    }

    /// The candidates that processors leave.
    fn kept(&self, mut candidates: Candidates) -> Candidates {
        for processor in self
            .pipeline
            .processors
            .iter()
            .filter(|p| p.effect().removes())
        {
            processor.process(self.history, &mut candidates);
        }
        candidates
    }

    /// The scores of the draw, in the order of the tokens.
    fn drawn(&self, mut candidates: Candidates) -> Candidates {
        self.pipeline.sampler.add_noise(self.step, &mut candidates);
        candidates
    }
}

/// Candidates whose scores are made of the place, the lowest and the highest of each.
fn meet(
    lows: &Candidates,
    highs: &Candidates,
    score: impl Fn(usize, f32, f32) -> f32,
) -> Candidates {
    let mut met = lows.clone();
    let pairs = met.as_mut_slice().iter_mut().zip(highs.as_slice());
    for (index, (low, high)) in pairs.enumerate() {
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
                let config = GenerationConfig {
                    seed: round,
                    ..config
                };
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

    /// Logits of the tokens behind the marks with these probabilities; the rest has none.
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
        let top_p = GenerationConfig {
            top_p: 0.8,
            ..base.clone()
        };
        let top_k = GenerationConfig {
            top_k: 2,
            ..base.clone()
        };
        // What comes before the third sums to a little less than 0.8, or a little more; or to a lot more.
        let at_top_p = [0.799_999_9, 0.800_000_1].map(|sum| logits(&[0.5, sum - 0.5, 1.0 - sum]));
        let not_at_top_p = logits(&[0.5, 0.301, 0.199]);
        // The third is as likely as the second, but for rounding; or less so.
        let at_top_k = [-1e-7, 1e-7].map(|more| logits(&[0.5, 0.25, 0.25 + more]));
        let not_at_top_k = logits(&[0.5, 0.26, 0.24]);
        for (config, at, not) in [
            (top_p, at_top_p, not_at_top_p),
            (top_k, at_top_k, not_at_top_k),
        ] {
            let mut turned = 0;
            for seed in 0..200 {
                let config = GenerationConfig {
                    seed,
                    ..config.clone()
                };
                let choices = at.each_ref().map(|logits| chosen(&config, logits));
                turned += usize::from(choices[0] != choices[1]);
                for logits in &at {
                    for choice in choices {
                        assert!(
                            sequence(&config).could_choose(logits, choice, gap),
                            "{seed}"
                        );
                    }
                }
                let third = sequence(&config).could_choose(&not, 12, gap);
                assert!(!third, "{config:?}");
            }
            assert!(turned > 10, "{turned}");
        }
        // The draw itself, and no draw at all.
        let greedy = GenerationConfig {
            temperature: 0.0,
            ..base
        };
        let sequence = sequence(&greedy);
        let near = logits(&[0.5, 0.500_001]);
        assert!(
            [10, 11]
                .iter()
                .all(|t| sequence.could_choose(&near, *t, gap))
        );
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
