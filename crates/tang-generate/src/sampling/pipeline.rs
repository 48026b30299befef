//! The way from logits to a token.

use tang_tokenizer::TokenId;

use super::{
    candidates::Candidates,
    processor::{Effect, Processor},
    sampler::{Choice, Sampler},
};
use crate::GenerationConfig;

/// The processors in their order, and the draw after them.
pub(crate) struct Pipeline {
    pub(crate) processors: Vec<Processor>,
    pub(crate) sampler: Sampler,
}

impl Pipeline {
    /// Repetition penalty, temperature, top-k, top-p, as far as they are on, and the draw.
    pub(crate) fn new(config: &GenerationConfig) -> Self {
        let mut processors = Vec::new();
        if config.repetition_penalty != 1.0 {
            processors.push(Processor::RepetitionPenalty(config.repetition_penalty));
        }
        if config.temperature == 0.0 {
            let sampler = Sampler::Greedy;
            return Self { processors, sampler };
        }
        processors.push(Processor::Temperature(config.temperature));
        if config.top_k > 0 {
            processors.push(Processor::TopK(config.top_k));
        }
        if config.top_p < 1.0 {
            processors.push(Processor::TopP(config.top_p));
        }
        let sampler = Sampler::Gumbel { seed: config.seed };
        Self { processors, sampler }
    }

    /// Count of the best tokens, by logit, among which the choice after a history of `length` tokens is the same as
    /// among all tokens.
    pub(crate) fn contenders(&self, length: usize) -> usize {
        let mut lowered = 0;
        for processor in &self.processors {
            match processor.effect() {
                Effect::Divides => {}
                Effect::LowersHistory => lowered = length,
                Effect::KeepsBest(count) => return count.saturating_add(lowered),
                Effect::Reorders | Effect::Removes => return usize::MAX,
            }
        }
        self.sampler.contenders().saturating_add(lowered)
    }

    /// Chooses the token after `history`, in step `step` of the generation.
    pub(crate) fn choose(
        &self,
        history: &[TokenId],
        step: usize,
        mut candidates: Candidates,
    ) -> Choice {
        for processor in &self.processors {
            processor.process(history, &mut candidates);
        }
        let choice = self.sampler.choose(step, candidates);
        choice.expect("processors keep a candidate")
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

    use super::*;

    const HISTORY: [TokenId; 6] = [0, 7, 9, 11, 200, 250];

    #[test]
    fn processors_in_any_order_say_how_many_candidates_they_need() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut needs = std::collections::BTreeSet::new();
        for seed in 0..3000 {
            let mut processors = Vec::new();
            for _ in 0..rng.random_range(0..5) {
                processors.push(match rng.random_range(0..4) {
                    0 => Processor::RepetitionPenalty(1.5),
                    1 => Processor::Temperature(rng.random_range(0.1..3.0)),
                    2 => Processor::TopK(rng.random_range(1..40)),
                    _ => Processor::TopP(rng.random_range(0.1..1.0)),
                });
            }
            let sampler = if rng.random() { Sampler::Greedy } else { Sampler::Gumbel { seed } };
            let pipeline = Pipeline { processors, sampler };
            let logits: Vec<f32> =
                (0..300).map(|_| rng.random_range(-40..40) as f32 / 8.0).collect();
            let count = pipeline.contenders(HISTORY.len());
            let choose =
                |count| pipeline.choose(&HISTORY, 4, Candidates::contenders(&logits, count));
            assert_eq!(choose(count), choose(usize::MAX), "{count} of {seed}");
            needs.insert(count);
        }
        assert!(needs.len() > 30 && needs.contains(&2) && needs.contains(&usize::MAX));
    }
}
