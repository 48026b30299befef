//! One poem in the making.

use std::sync::Arc;

use tang_kernels::log_sum_exp;
use tang_tokenizer::{NEWLINE, TokenId};

use crate::{
    GenerateError, GenerationConfig, Task, WordPlace,
    sampling::{candidates::Candidates, pipeline::Pipeline, tie::Tie},
};

/// The reason why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The poem is complete: its final newline was generated, or the context is full after the last
    /// line of a fixed layout.
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
    /// The lead over the second candidate in the draw, in units of logit / temperature; infinite if
    /// no second was left.
    pub margin: f32,
}

/// The tokens of one poem, and all that decides the next one.
///
/// The pipeline is the same for every mode: mask, repetition penalty, temperature, top-k, top-p, draw.
#[derive(Clone)]
pub struct Sequence {
    task: Task,
    tokens: Vec<TokenId>,
    pipeline: Arc<Pipeline>,
    max_new_tokens: usize,
    stop_at_end: bool,
    /// Positions of the decoder; no limit before the sequence begins.
    context: usize,
    /// Log-probabilities of the generated tokens.
    log_probs: Sum,
    /// Log-probabilities of those that the constraints did not force.
    free_log_probs: Sum,
    /// Log-probabilities of these, and of the characters of words.
    chosen_log_probs: Sum,
    /// Logarithm of the probability of all choices.
    score: f64,
    finish_reason: Option<FinishReason>,
}

/// Values that were added in order.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    total: f64,
    count: usize,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.total += value;
        self.count += 1;
    }

    fn mean(self) -> f64 {
        self.total / self.count as f64
    }
}

impl Sequence {
    /// A sequence that has the prompt only.
    ///
    /// # Errors
    ///
    /// [`GenerateError::Setting`] if a setting has an impossible value.
    pub fn new(task: Task, config: &GenerationConfig) -> Result<Self, GenerateError> {
        config.validate()?;
        Ok(Self {
            tokens: task.prompt().to_vec(),
            task,
            pipeline: Arc::new(Pipeline::new(config)),
            max_new_tokens: config.max_new_tokens,
            stop_at_end: config.stop_at_end,
            context: usize::MAX,
            log_probs: Sum::default(),
            free_log_probs: Sum::default(),
            chosen_log_probs: Sum::default(),
            score: 0.0,
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

    /// The reason why it ended, once it has.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.finish_reason
    }

    /// Mean log-probability of the generated tokens, in nats, under the model alone.
    pub fn mean_log_prob(&self) -> f64 {
        self.log_probs.mean()
    }

    /// Mean log-probability, in nats, of the generated tokens that the constraints did not force: the measure of a
    /// constrained poem. NaN if all were forced.
    pub fn mean_free_log_prob(&self) -> f64 {
        self.free_log_probs.mean()
    }

    /// Mean log-probability, in nats, of the generated tokens that were not given with their places: free ones and
    /// those of words. Poems with the same words are compared by it.
    pub(crate) fn mean_chosen_log_prob(&self) -> f64 {
        self.chosen_log_probs.mean()
    }

    /// The place of each word that the task asks for, in its order; `None` for one that the sequence has not reached.
    pub fn word_places(&self) -> Vec<Option<WordPlace>> {
        self.task.word_places(&self.tokens)
    }

    /// Chooses the next token, from the logits after the last one.
    ///
    /// # Errors
    ///
    /// [`GenerateError::NothingAllowed`] if the constraints leave no token.
    pub fn advance(&mut self, logits: &[f32]) -> Result<Step, GenerateError> {
        self.advance_among(logits, self.pipeline.contenders(self.tokens.len()))
    }

    /// [`advance`](Self::advance) with the `count` best of the allowed tokens only.
    fn advance_among(&mut self, logits: &[f32], count: usize) -> Result<Step, GenerateError> {
        self.choose_word(logits);
        let (candidates, forced) = self.candidates(logits, count)?;
        let step = self.generated().len();
        let choice = self.pipeline.choose(&self.task.compared(&self.tokens), step, candidates);
        let step = Step {
            token: choice.token,
            forced,
            log_prob: f64::from(logits[choice.token as usize]) - log_sum_exp(logits),
            margin: choice.margin,
        };
        self.push(step.token, step.log_prob, forced);
        Ok(step)
    }

    /// Whether the next choice could be `token` if each logit were off by up to `gap`: whether
    /// rounding explains that choice, at any step of the pipeline.
    pub fn could_choose(&self, logits: &[f32], token: TokenId, gap: f32) -> bool {
        let history = &self.task.compared(&self.tokens);
        let tie = Tie { history, pipeline: &self.pipeline, step: self.generated().len() };
        let mut next = self.clone();
        next.choose_word(logits);
        let candidates = next.candidates(logits, usize::MAX);
        candidates.is_ok_and(|(candidates, _)| tie.can_be(&candidates, token, gap))
    }

    /// Decides which word of the task begins now, if any.
    fn choose_word(&mut self, logits: &[f32]) {
        self.task.choose_word(&self.tokens, logits, self.pipeline.sampler.seed());
    }

    /// Whether a word whose place was chosen begins now.
    pub(crate) fn begins_word(&self) -> bool {
        self.task.begins_word(&self.tokens)
    }

    /// The sequence with each decision about the words of the task that is possible now.
    pub(crate) fn branches(&self, logits: &[f32]) -> Vec<Self> {
        let branches = self.task.branches(&self.tokens, logits).into_iter();
        let branch = |(task, chance)| Self { task, score: self.score + chance, ..self.clone() };
        branches.map(branch).collect()
    }

    /// The tokens that the constraints allow next, at least one, and whether only one is allowed.
    /// Tokens that cannot be among the `count` best after the temperature may be left out.
    pub(crate) fn candidates(
        &self,
        logits: &[f32],
        count: usize,
    ) -> Result<(Candidates, bool), GenerateError> {
        Ok(match self.task.mask(&self.tokens)? {
            Some(mask) => (Candidates::contenders(&mask.hide(logits), count), mask.count() == 1),
            None => (Candidates::contenders(logits, count), logits.len() == 1),
        })
    }

    /// Sets the count of positions of the decoder, before the first token.
    ///
    /// # Errors
    ///
    /// Those of [`Task::fit`].
    pub(crate) fn begin(&mut self, context: usize) -> Result<(), GenerateError> {
        self.context = context;
        self.task.check(context)
    }

    /// Most tokens that go through the model until the sequence ends.
    pub(crate) fn most_tokens(&self) -> usize {
        // The newline at the end counts, too.
        let whole = self.task.characters().filter(|_| self.stop_at_end);
        let new = whole.map_or(usize::MAX, |count| count + 1).min(self.max_new_tokens);
        // The last token does not go through the model.
        let most = self.task.prompt().len().saturating_add(new - 1);
        most.min(self.context)
    }

    /// Adds a token that the model alone gives this log-probability.
    pub(crate) fn push(&mut self, token: TokenId, log_prob: f64, forced: bool) {
        let (is_word, begins_word) = (self.task.is_word(&self.tokens), self.begins_word());
        self.tokens.push(token);
        self.log_probs.add(log_prob);
        if !forced {
            self.free_log_probs.add(log_prob);
        }
        if !forced || is_word {
            self.chosen_log_probs.add(log_prob);
        }
        // The choice of a word's place was counted by its chance.
        if !begins_word {
            self.score += log_prob;
        }
        let limit = if self.generated().len() == self.max_new_tokens {
            Some(FinishReason::MaxNewTokens)
        } else if self.tokens.len() > self.context {
            // The logits after this token would need a position that the context does not have.
            Some(FinishReason::ContextFull)
        } else {
            None
        };
        // The last line of the longest forms fills the context and leaves no position for a newline.
        let is_end = token == NEWLINE || (limit.is_some() && self.task.is_whole(&self.tokens));
        self.finish_reason =
            if is_end && self.stop_at_end { Some(FinishReason::EndOfPoem) } else { limit };
    }

    /// The logarithm of the probability of all choices: of the generated tokens under the model alone, and of the
    /// places of words by their chances.
    pub(crate) fn score(&self) -> f64 {
        self.score
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
    use tang_prosody::Form;
    use tang_tokenizer::Vocabulary;

    use super::*;

    fn greedy() -> GenerationConfig {
        GenerationConfig { temperature: 0.0, ..GenerationConfig::default() }
    }

    /// Newline and marks are tokens 0 to 2, the characters 3 to 5.
    fn vocabulary() -> Vocabulary {
        Vocabulary::from_texts(["一丁七"])
    }

    #[test]
    fn the_penalty_counts_the_prompt() {
        let logits = [0.0, 0.0, 0.0, 3.0, 2.0, 1.0];
        let chosen = |prompt, penalty| {
            let task = Task::continuation(prompt, &vocabulary()).unwrap();
            let config = GenerationConfig { repetition_penalty: penalty, ..greedy() };
            let mut sequence = Sequence::new(task, &config).unwrap();
            sequence.advance(&logits).unwrap().token
        };
        assert_eq!(chosen("一一", 1.0), 3);
        // 一 is in the prompt: 3.0 / 2 is below 2.0.
        assert_eq!(chosen("一一", 2.0), 4);
        // The model reads 一, but the poem has 㐀.
        assert_eq!(chosen("㐀㐀", 2.0), 3);
        // The penalty looks back beyond it.
        assert_eq!(chosen("一一㐀", 2.0), 4);
    }

    #[test]
    fn the_mask_holds_for_greedy_too() {
        let vocabulary = vocabulary();
        let task = Task::form(Form::WuJue.into(), &vocabulary).unwrap();
        let mut sequence = Sequence::new(task, &greedy()).unwrap();
        let logits = [9.0, 8.0, 7.0, 1.0, 3.0, 2.0];
        let step = sequence.advance(&logits).unwrap();
        assert_eq!((step.token, step.forced), (4, false));
        // The probability is the model's own, masked tokens included.
        let sum: f64 = logits.iter().map(|l| f64::from(*l).exp()).sum();
        assert!((step.log_prob - (3.0 - sum.ln())).abs() < 1e-5);
    }

    #[test]
    fn the_best_tokens_decide_as_all_of_them_would() {
        const CHARACTERS: usize = 400;
        let characters: String = ('一'..).take(CHARACTERS).collect();
        let vocabulary = Vocabulary::from_texts([characters.as_str()]);
        let free = Task::continuation(&characters[..60], &vocabulary).unwrap();
        let form = Task::form(Form::WuJue.into(), &vocabulary).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut few = 0;
        for seed in 0..4000 {
            let mut pick = |choices: &[f32]| choices[rng.random_range(0..choices.len())];
            let config = GenerationConfig {
                seed,
                temperature: pick(&[0.0, 0.0, 1e-3, 0.3, 0.85, 1.0, 7.0, 1e3, 1e30, f32::MAX]),
                top_k: pick(&[0.0, 1.0, 2.0, 5.0, 50.0, 399.0, 1000.0]) as usize,
                top_p: pick(&[1e-6, 0.5, 0.85, 1.0, 1.0]),
                repetition_penalty: pick(&[1.0, 1.0, 1.0, 1.3, 100.0]),
                ..GenerationConfig::default()
            };
            // Rounded to a few values, or not; smaller and larger than any model's.
            let (scale, digits) = (pick(&[1e-3, 1.0, 30.0, 1e30]), pick(&[2.0, 20.0, 1e6]));
            let hidden = pick(&[0.0, 0.1, 0.9, 0.99]);
            let mut logits: Vec<f32> = (0..vocabulary.len())
                .map(|_| (rng.random_range(-1.0..1.0_f32) * digits).round() / digits * scale)
                .collect();
            for logit in &mut logits[..CHARACTERS] {
                if rng.random_range(0.0..1.0) < hidden {
                    *logit = f32::NEG_INFINITY;
                }
            }
            // Neighbours of one float, which one quotient can have.
            for token in 300..310 {
                logits[token] = logits[token - 1].next_up();
            }
            let task = if seed % 2 == 0 { &free } else { &form };
            let start = Sequence::new(task.clone(), &config).unwrap();
            let count = start.pipeline.contenders(start.tokens.len());
            few += usize::from(count < logits.len());
            let (mut all, mut best) = (start.clone(), start);
            let wanted = all.advance_among(&logits, usize::MAX).unwrap();
            let got = best.advance(&logits).unwrap();
            let bits = |step: Step| {
                let Step { token, forced, log_prob, margin } = step;
                (token, forced, log_prob.to_bits(), margin.to_bits())
            };
            assert_eq!(bits(got), bits(wanted), "{config:?}, scale {scale}");
        }
        assert!((1500..3500).contains(&few), "{few}");
    }

    #[test]
    fn top_k_sees_the_logits_after_the_penalty() {
        let task = Task::continuation("一一", &vocabulary()).unwrap();
        let config = GenerationConfig {
            temperature: 1.0,
            top_k: 1,
            repetition_penalty: 2.0,
            ..GenerationConfig::default()
        };
        for seed in 0..20 {
            let config = GenerationConfig { seed, ..config.clone() };
            let mut sequence = Sequence::new(task.clone(), &config).unwrap();
            let step = sequence.advance(&[0.0, 0.0, 0.0, 3.0, 2.0, 1.0]).unwrap();
            assert_eq!(step.token, 4);
        }
    }
}
