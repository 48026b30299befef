//! A decoder without a model, to show that measurements find what is wrong.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tang_generate::{Decoder, Logits};
use tang_model::ModelError;
use tang_tokenizer::TokenId;

const VOCABULARY: usize = 20;

/// Wants the token after the last one, and the one after that second; counts as the cache does.
#[derive(Debug)]
pub(crate) struct FakeDecoder {
    /// By how much the second token is behind.
    pub lead: f32,
    /// What is added to the logits of the others.
    pub others: f32,
    /// What is added to the second one's logit at one step, from 0.
    pub fault: Option<(usize, f32)>,
    /// Tokens that each prefill counts too many.
    pub extra_forwarded: usize,
    /// Steps since the last prefill.
    pub steps: usize,
    /// Tokens counted.
    pub forwarded: Arc<AtomicUsize>,
}

impl Default for FakeDecoder {
    fn default() -> Self {
        Self {
            lead: 1e4,
            others: 0.0,
            fault: None,
            extra_forwarded: 0,
            steps: 0,
            forwarded: Arc::default(),
        }
    }
}

impl FakeDecoder {
    fn logits(&mut self, last: TokenId) -> Logits {
        let rest = |i| -2.0 * self.lead + self.others - i as f32 / VOCABULARY as f32;
        let mut values: Vec<f32> = (0..VOCABULARY).map(rest).collect();
        values[0] = 0.0;
        values[1] = -self.lead;
        if let Some((_, fault)) = self.fault.filter(|(step, _)| *step == self.steps) {
            values[1] += fault;
        }
        values.rotate_right(last as usize + 1);
        self.steps += 1;
        Logits::new(values, VOCABULARY)
    }
}

impl Decoder for FakeDecoder {
    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, ModelError> {
        self.steps = 0;
        let forwarded = prompts[0].len() + self.extra_forwarded;
        self.forwarded.fetch_add(forwarded, Ordering::Relaxed);
        Ok(self.logits(prompts[0][prompts[0].len() - 1]))
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Result<Logits, ModelError> {
        self.forwarded.fetch_add(1, Ordering::Relaxed);
        Ok(self.logits(tokens[0]))
    }

    fn select(&mut self, _: &[usize]) {}

    fn truncate(&mut self, _: &[usize]) {}

    fn fork(&self) -> Option<Self> {
        Some(Self {
            steps: 0,
            forwarded: Arc::clone(&self.forwarded),
            ..*self
        })
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }
}
