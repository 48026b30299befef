//! The draw.

use rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use tang_tokenizer::TokenId;

use super::candidates::{Candidate, Candidates};

/// Count of words of noise from which skipping them is faster than reading them.
const FAR: TokenId = 64;

/// The chosen token and its lead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Choice {
    pub(crate) token: TokenId,
    /// The lead over the second, noise included; infinite if there was no second.
    pub(crate) margin: f32,
}

/// The choice of one candidate.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sampler {
    /// Takes the best.
    Greedy,
    /// Draws from the softmax of the scores by Gumbel-max (Gumbel, 1954; Maddison et al., *A\* Sampling*, 2014): the
    /// largest of score plus noise. The noise of a token is a function of seed, step and token alone, made by a
    /// counter-based generator, so the draw depends neither on the order of the candidates nor on the draws of other
    /// rows, and a difference of 1e-6 in a score changes it only where two sums are that close.
    Gumbel { seed: u64 },
}

impl Sampler {
    /// The seed of the noise, if there is any.
    pub(crate) fn seed(self) -> Option<u64> {
        match self {
            Self::Greedy => None,
            Self::Gumbel { seed } => Some(seed),
        }
    }

    /// Count of the best candidates that decide the choice: without noise, the best and the second.
    pub(crate) fn contenders(self) -> usize {
        match self {
            Self::Greedy => 2,
            Self::Gumbel { .. } => usize::MAX,
        }
    }

    /// Adds the noise of step `step` to the scores, if there is any; candidates are then in the order of their
    /// tokens.
    pub(crate) fn add_noise(self, step: usize, candidates: &mut Candidates) {
        if let Self::Gumbel { seed } = self {
            let mut noise = ChaCha8Rng::seed_from_u64(seed);
            noise.set_stream(step as u64);
            add_gumbel(noise, candidates);
        }
    }

    /// Chooses the token of step `step`, or `None` if there is no candidate.
    pub(crate) fn choose(self, step: usize, mut candidates: Candidates) -> Option<Choice> {
        self.add_noise(step, &mut candidates);
        candidates.keep_best(2);
        let margin = match candidates[..] {
            [best, second] => best.logit - second.logit,
            _ => f32::INFINITY,
        };
        let token = candidates.first()?.token;
        Some(Choice { token, margin })
    }
}

fn add_gumbel(mut rng: ChaCha8Rng, candidates: &mut [Candidate]) {
    // Token t has word t of the stream, which is read in the order of tokens.
    candidates.sort_unstable_by_key(|candidate| candidate.token);
    let mut next = 0;
    for candidate in candidates {
        match candidate.token - next {
            ahead @ ..FAR => (0..ahead).for_each(|_| _ = rng.next_u32()),
            _ => rng.set_word_pos(u128::from(candidate.token)),
        }
        next = candidate.token + 1;
        // The middle of one of 2^32 equal intervals, so that it is never 0 or 1.
        let uniform = (f64::from(rng.next_u32()) + 0.5) / 2_f64.powi(32);
        candidate.logit += -(-uniform.ln()).ln() as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::candidates::tests::candidates;

    #[test]
    fn greedy_takes_the_best() {
        let choice = Sampler::Greedy.choose(3, candidates(&[0.5, 2.0, 1.5]));
        let (token, margin) = (1, 0.5);
        assert_eq!(choice, Some(Choice { token, margin }));
        let only = Sampler::Gumbel { seed: 0 }.choose(0, candidates(&[1.0])).unwrap();
        assert_eq!((only.token, only.margin), (0, f32::INFINITY));
        assert_eq!(Sampler::Greedy.choose(0, Candidates::default()), None);
        assert_eq!(Sampler::Gumbel { seed: 0 }.choose(0, Candidates::default()), None);
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let wanted = [0.5, 0.3, 0.15, 0.05_f32];
        let mut counts = [0_usize; 4];
        let draws = 20_000;
        for seed in 0..20 {
            for step in 0..draws / 20 {
                let list = candidates(&wanted.map(f32::ln));
                let choice = Sampler::Gumbel { seed }.choose(step, list).unwrap();
                counts[choice.token as usize] += 1;
            }
        }
        // Chi-square with 3 degrees of freedom: above 16.3 once in a thousand.
        let chi_square: f64 = counts
            .iter()
            .zip(wanted)
            .map(|(count, p)| {
                let mean = draws as f64 * f64::from(p);
                (*count as f64 - mean).powi(2) / mean
            })
            .sum();
        assert!(chi_square < 16.3, "{chi_square} {counts:?}");
    }

    #[test]
    fn the_draw_depends_on_seed_step_and_token_alone() {
        let draw = |seed, step, list: Candidates| {
            Sampler::Gumbel { seed }.choose(step, list).unwrap().token
        };
        let logits = vec![0.0; 500];
        let all = candidates(&logits);
        let first = draw(1, 0, all.clone());
        let reversed = Candidates::of_tokens((0..500).rev(), &logits);
        assert_eq!(first, draw(1, 0, reversed));
        // Without tokens that were not chosen, the choice is the same.
        let fewer = (0..500).filter(|token| token % 3 == first % 3);
        let fewer = Candidates::of_tokens(fewer, &logits);
        assert_eq!(first, draw(1, 0, fewer));

        let varied: std::collections::BTreeSet<_> = (0..20)
            .flat_map(|n| [draw(n, 0, all.clone()), draw(1, n as usize, all.clone())])
            .collect();
        assert!(varied.len() > 30, "{varied:?}");
    }
}
