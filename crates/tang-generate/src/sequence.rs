//! One poem in the making.

use std::sync::Arc;

use tang_engine::{Decoder, EngineError, Logits};
use tang_kernels::log_sum_exp;
use tang_tokenizer::{NEWLINE, TokenId};

use crate::{
    GenerateError, GenerationConfig, Task,
    candidates::Candidates,
    logits_processor::LogitsProcessor,
    repetition_penalty::RepetitionPenalty,
    sampler::{Choice, Sampler},
    temperature::Temperature,
    tie::Tie,
    top_k::TopK,
    top_p::TopP,
};

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The poem is whole: the newline that ends it came, or no place is left behind the last of the lines
    /// that were laid down.
    EndOfPoem,
    /// The number of tokens that was asked for is reached.
    MaxNewTokens,
    /// The model has no further position.
    ContextFull,
}

impl FinishReason {
    /// The name in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Self::EndOfPoem => "end_of_poem",
            Self::MaxNewTokens => "max_new_tokens",
            Self::ContextFull => "context_full",
        }
    }
}

/// One token that was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The token.
    pub token: TokenId,
    /// Whether the constraints left no other.
    pub forced: bool,
    /// Its log-probability, in nats, under the model alone: before mask, penalty and temperature.
    pub log_prob: f64,
    /// By how much it beat the second candidate in the draw, in units of logit / temperature;
    /// infinite if no second was left.
    pub margin: f32,
}

/// The tokens of one poem, and all that decides the next one.
///
/// The pipeline is the same for every mode: mask, repetition penalty, temperature, top-k, top-p,
/// draw.
#[derive(Clone)]
pub struct Sequence {
    task: Task,
    tokens: Vec<TokenId>,
    processors: Arc<[Box<dyn LogitsProcessor>]>,
    sampler: Sampler,
    /// So many of the best tokens are all that the pipeline can choose among.
    contenders: usize,
    max_new_tokens: usize,
    stop_at_end: bool,
    context: usize,
    log_prob_sum: f64,
    /// Of the tokens that the constraints did not force, how many and their log-probabilities.
    free: (usize, f64),
    finish_reason: Option<FinishReason>,
}

impl Sequence {
    /// A sequence that holds the prompt only. `context` is the model's.
    ///
    /// # Errors
    ///
    /// If a setting has an impossible value.
    pub fn new(
        task: Task,
        config: &GenerationConfig,
        context: usize,
    ) -> Result<Self, GenerateError> {
        config.validate()?;
        let mut processors: Vec<Box<dyn LogitsProcessor>> = Vec::new();
        if config.repetition_penalty != 1.0 {
            processors.push(Box::new(RepetitionPenalty(config.repetition_penalty)));
        }
        let greedy = config.temperature == 0.0;
        if !greedy {
            processors.push(Box::new(Temperature(config.temperature)));
            if config.top_k > 0 {
                processors.push(Box::new(TopK(config.top_k)));
            }
            if config.top_p < 1.0 {
                processors.push(Box::new(TopP(config.top_p)));
            }
        }
        let sampler = if greedy {
            Sampler::greedy()
        } else {
            Sampler::gumbel(config.seed)
        };
        Ok(Self {
            tokens: task.prompt().to_vec(),
            task,
            processors: processors.into(),
            sampler,
            contenders: match (config.repetition_penalty == 1.0, greedy, config.top_k) {
                // The best, and the one that it beat.
                (true, true, _) => 2,
                (true, false, top_k @ 1..) => top_k,
                // The penalty changes the order, and without top-k everything can be drawn.
                _ => usize::MAX,
            },
            max_new_tokens: config.max_new_tokens,
            stop_at_end: config.stop_at_end,
            context,
            log_prob_sum: 0.0,
            free: (0, 0.0),
            finish_reason: None,
        })
    }

    /// Prompt and generated tokens.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// The generated tokens.
    pub fn generated(&self) -> &[TokenId] {
        &self.tokens[self.task.prompt().len()..]
    }

    /// Why it ended, once it has.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.finish_reason
    }

    /// Mean log-probability of the generated tokens, in nats, under the model alone.
    pub fn mean_log_prob(&self) -> f64 {
        self.log_prob_sum / self.generated().len() as f64
    }

    /// Mean log-probability, in nats, of the generated tokens that the constraints did not force:
    /// what a constrained poem can be judged by. NaN if all were forced.
    pub fn mean_free_log_prob(&self) -> f64 {
        let (count, sum) = self.free;
        sum / count as f64
    }

    /// The logits behind the last token: prefills the prompt, or decodes the token before.
    ///
    /// # Errors
    ///
    /// If the prompt is longer than the context.
    pub fn next_logits(&self, decoder: &mut dyn Decoder) -> Result<Logits, GenerateError> {
        Ok(match self.generated() {
            [] => {
                decoder.reserve(1, self.most_tokens())?;
                decoder.prefill(&[&self.tokens])?
            }
            [.., last] => decoder.decode(&[*last])?,
        })
    }

    /// Chooses the token that follows, from the logits behind the last one.
    ///
    /// # Errors
    ///
    /// [`GenerateError::NothingAllowed`] if the constraints leave no token.
    pub fn advance(&mut self, logits: &[f32]) -> Result<Step, GenerateError> {
        let (mut candidates, forced) = self.candidates(logits, self.contenders)?;
        for processor in self.processors.iter() {
            processor.process(&self.tokens, &mut candidates);
        }
        let Choice { token, margin } = self
            .sampler
            .choose(self.generated().len(), candidates)
            .expect("processors never remove the last candidate");
        let log_prob = f64::from(logits[token as usize]) - log_sum_exp(logits);
        self.push(token, log_prob, forced);
        Ok(Step {
            token,
            forced,
            log_prob,
            margin,
        })
    }

    /// Whether it would choose `token` if each logit were off by up to `gap`: whether rounding can have made the
    /// difference, at whatever border of the pipeline.
    pub fn could_choose(&self, logits: &[f32], token: TokenId, gap: f32) -> bool {
        let tie = Tie {
            history: &self.tokens,
            processors: &self.processors,
            sampler: self.sampler,
            step: self.generated().len(),
        };
        self.candidates(logits, usize::MAX)
            .is_ok_and(|(candidates, _)| tie.can_be(&candidates, token, gap))
    }

    /// The tokens that the constraints allow next, at least one, as far as they can be among the `count`
    /// best when all logits are divided by the same number; and whether no other than one is allowed.
    pub(crate) fn candidates(
        &self,
        logits: &[f32],
        count: usize,
    ) -> Result<(Candidates, bool), GenerateError> {
        let (candidates, allowed) = match self.task.mask(&self.tokens, logits.len()) {
            Some(mask) => {
                let candidates = Candidates::contenders(&mask.hide(logits), count);
                (candidates, mask.count())
            }
            None => (Candidates::contenders(logits, count), logits.len()),
        };
        match allowed {
            0 => Err(GenerateError::NothingAllowed(
                self.task.dead_end(&self.tokens, logits.len()),
            )),
            _ => Ok((candidates, allowed == 1)),
        }
    }

    /// Tokens that go through the model until it ends, at the most.
    pub(crate) fn most_tokens(&self) -> usize {
        let of_form = self.task.new_tokens().filter(|_| self.stop_at_end);
        let new = of_form.map_or(self.max_new_tokens, |new| new.min(self.max_new_tokens));
        // Nothing looks back at the last one.
        let most = self.task.prompt().len().saturating_add(new - 1);
        most.min(self.context)
    }

    /// Itself, unless the prompt is longer than the context.
    pub(crate) fn if_it_fits(self) -> Result<Self, GenerateError> {
        if self.tokens.len() <= self.context {
            Ok(self)
        } else {
            Err(GenerateError::Engine(EngineError::TextTooLong {
                length: self.tokens.len(),
                context: self.context,
            }))
        }
    }

    /// How many tokens it has in common with `others`, its last one not counted: what follows that is
    /// still to be computed.
    pub(crate) fn shared_with(&self, others: &[TokenId]) -> usize {
        let pairs = self.tokens[..self.tokens.len() - 1].iter().zip(others);
        pairs.take_while(|(own, other)| own == other).count()
    }

    /// Adds a token that the model alone gives this log-probability.
    pub(crate) fn push(&mut self, token: TokenId, log_prob: f64, forced: bool) {
        self.tokens.push(token);
        self.log_prob_sum += log_prob;
        if !forced {
            self.free.0 += 1;
            self.free.1 += log_prob;
        }
        let limit = if self.generated().len() == self.max_new_tokens {
            Some(FinishReason::MaxNewTokens)
        } else if self.tokens.len() > self.context {
            // The token after this one would need a position of this one's.
            Some(FinishReason::ContextFull)
        } else {
            None
        };
        // The last line of the longest forms fills the context and leaves no place for a newline.
        let is_end = token == NEWLINE || (limit.is_some() && self.task.is_whole(&self.tokens));
        self.finish_reason = if is_end && self.stop_at_end {
            Some(FinishReason::EndOfPoem)
        } else {
            limit
        };
    }

    /// The log-probability of all generated tokens under the model alone, in nats.
    pub(crate) fn log_prob(&self) -> f64 {
        self.log_prob_sum
    }
}

#[cfg(test)]
mod tests {
    use tang_prosody::Form;
    use tang_tokenizer::Vocabulary;

    use super::*;

    fn greedy() -> GenerationConfig {
        GenerationConfig {
            temperature: 0.0,
            ..GenerationConfig::default()
        }
    }

    /// Newline and marks are tokens 0 to 2, the characters 3 to 5.
    fn vocabulary() -> Vocabulary {
        Vocabulary::from_texts(["一丁七"])
    }

    #[test]
    fn the_penalty_counts_the_prompt() {
        let task = Task::continuation("一", &vocabulary()).unwrap();
        let logits = [0.0, 0.0, 0.0, 3.0, 2.0, 1.0];
        let chosen = |penalty| {
            let config = GenerationConfig {
                repetition_penalty: penalty,
                ..greedy()
            };
            let mut sequence = Sequence::new(task.clone(), &config, 8).unwrap();
            sequence.advance(&logits).unwrap().token
        };
        assert_eq!(chosen(1.0), 3);
        // 一 stands in the prompt: 3.0 / 2 is below 2.0.
        assert_eq!(chosen(2.0), 4);
    }

    #[test]
    fn the_mask_holds_for_greedy_too() {
        let vocabulary = vocabulary();
        let task = Task::form(Form::WuJue.into(), &vocabulary, 32).unwrap();
        let mut sequence = Sequence::new(task, &greedy(), 32).unwrap();
        let logits = [9.0, 8.0, 7.0, 1.0, 3.0, 2.0];
        let step = sequence.advance(&logits).unwrap();
        assert_eq!((step.token, step.forced), (4, false));
        // The probability is the model's own, masked tokens included.
        let sum: f64 = logits.iter().map(|l| f64::from(*l).exp()).sum();
        assert!((step.log_prob - (3.0 - sum.ln())).abs() < 1e-5);
    }

    #[test]
    fn top_k_sees_the_logits_after_the_penalty() {
        let task = Task::continuation("一", &vocabulary()).unwrap();
        let config = GenerationConfig {
            temperature: 1.0,
            top_k: 1,
            repetition_penalty: 2.0,
            ..GenerationConfig::default()
        };
        for seed in 0..20 {
            let config = GenerationConfig {
                seed,
                ..config.clone()
            };
            let mut sequence = Sequence::new(task.clone(), &config, 8).unwrap();
            let step = sequence.advance(&[0.0, 0.0, 0.0, 3.0, 2.0, 1.0]).unwrap();
            assert_eq!(step.token, 4);
        }
    }
}
