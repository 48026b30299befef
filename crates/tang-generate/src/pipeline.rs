//! The way from logits to a token.

use tang_tokenizer::TokenId;

use crate::{
    GenerationConfig,
    candidates::Candidates,
    logits_processor::{Effect, LogitsProcessor},
    repetition_penalty::RepetitionPenalty,
    sampler::{Choice, Sampler},
    temperature::Temperature,
    top_k::TopK,
    top_p::TopP,
};

/// The processors in their order, and the draw after them.
pub(crate) struct Pipeline {
    pub(crate) processors: Vec<Box<dyn LogitsProcessor>>,
    pub(crate) sampler: Sampler,
}

impl Pipeline {
    /// Repetition penalty, temperature, top-k, top-p, as far as they are on, and the draw.
    pub(crate) fn new(config: &GenerationConfig) -> Self {
        let mut processors: Vec<Box<dyn LogitsProcessor>> = Vec::new();
        if config.repetition_penalty != 1.0 {
            processors.push(Box::new(RepetitionPenalty(config.repetition_penalty)));
        }
        if config.temperature == 0.0 {
            return Self {
                processors,
                sampler: Sampler::greedy(),
            };
        }
        processors.push(Box::new(Temperature(config.temperature)));
        if config.top_k > 0 {
            processors.push(Box::new(TopK(config.top_k)));
        }
        if config.top_p < 1.0 {
            processors.push(Box::new(TopP(config.top_p)));
        }
        Self {
            processors,
            sampler: Sampler::gumbel(config.seed),
        }
    }

    /// Count of the best tokens, by logit, that decide everything: a choice among them is the choice among all.
    pub(crate) fn contenders(&self) -> usize {
        for processor in &self.processors {
            match processor.effect() {
                Effect::Divides => {}
                Effect::KeepsBest(count) => return count,
                Effect::Reorders | Effect::Removes => return usize::MAX,
            }
        }
        self.sampler.contenders()
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

    /// A rule that the pipeline knows by its effect alone: odd tokens are half as good.
    struct Halves;

    impl LogitsProcessor for Halves {
        fn process(&self, _: &[TokenId], candidates: &mut Candidates) {
            for candidate in candidates.as_mut_slice() {
                if candidate.token % 2 == 1 {
                    candidate.logit *= 0.5;
                }
            }
        }

        fn effect(&self) -> Effect {
            Effect::Reorders
        }
    }

    #[test]
    fn processors_in_any_order_say_how_many_candidates_they_need() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut needs = std::collections::BTreeSet::new();
        for seed in 0..3000 {
            let mut processors: Vec<Box<dyn LogitsProcessor>> = Vec::new();
            for _ in 0..rng.random_range(0..5) {
                processors.push(match rng.random_range(0..5) {
                    0 => Box::new(Halves),
                    1 => Box::new(RepetitionPenalty(1.5)),
                    2 => Box::new(Temperature(rng.random_range(0.1..3.0))),
                    3 => Box::new(TopK(rng.random_range(1..40))),
                    _ => Box::new(TopP(rng.random_range(0.1..1.0))),
                });
            }
            let sampler = if rng.random() {
                Sampler::greedy()
            } else {
                Sampler::gumbel(seed)
            };
            let pipeline = Pipeline {
                processors,
                sampler,
            };
            let logits: Vec<f32> = (0..300)
                .map(|_| rng.random_range(-40..40) as f32 / 8.0)
                .collect();
            let count = pipeline.contenders();
            let choose =
                |count| pipeline.choose(&[0, 7, 9], 4, Candidates::contenders(&logits, count));
            assert_eq!(choose(count), choose(usize::MAX), "{count} of {seed}");
            needs.insert(count);
        }
        assert!(needs.len() > 30 && needs.contains(&2) && needs.contains(&usize::MAX));
    }
}
