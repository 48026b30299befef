//! A decoder without a model, to test that the measurements find faults.

#![cfg(test)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tang_engine::{CacheBytes, Decoder, EngineError, Logits, Threads};
use tang_tokenizer::TokenId;

const VOCABULARY: usize = 20;

/// A decoder that prefers the token with the id after that of the last token, and then the next id.
/// It counts tokens as a decoder with a cache does.
#[derive(Debug)]
pub(crate) struct FakeDecoder {
    /// Lead over the second token.
    pub lead: f32,
    /// Added to the logits of the others.
    pub others: f32,
    /// A step, counted from 0, and the number added to the second token's logit there.
    pub fault: Option<(usize, f32)>,
    /// Count of surplus tokens that each prefill counts.
    pub extra_forwarded: usize,
    /// Tokens of each row.
    pub lengths: Vec<usize>,
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
            lengths: Vec::new(),
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
    fn context(&self) -> usize {
        usize::MAX
    }

    fn reserve(&mut self, _: usize, _: usize) -> Result<(), EngineError> {
        Ok(())
    }

    fn start(&mut self, rows: usize) {
        self.lengths = vec![0; rows];
        self.steps = 0;
        self.forwarded.fetch_add(self.extra_forwarded, Ordering::Relaxed);
    }

    fn lengths(&self) -> Vec<usize> {
        self.lengths.clone()
    }

    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, EngineError> {
        self.lengths[0] += rows[0].len();
        self.forwarded.fetch_add(rows[0].len(), Ordering::Relaxed);
        Ok(self.logits(rows[0][rows[0].len() - 1]))
    }

    fn position_logits(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let rows = tokens.iter().map(|token| self.logits(*token));
        let values: Vec<f32> = rows.flat_map(|logits| logits.row(0).to_vec()).collect();
        Ok(Logits::new(values, VOCABULARY))
    }

    fn select(&mut self, _: &[usize]) {}

    fn truncate(&mut self, _: &[usize]) {}

    fn fork(&self) -> Option<Box<dyn Decoder>> {
        Some(Box::new(Self {
            lengths: Vec::new(),
            steps: 0,
            forwarded: Arc::clone(&self.forwarded),
            ..*self
        }))
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }

    fn cache_bytes(&self) -> CacheBytes {
        CacheBytes::default()
    }

    fn capacity_for(&self, _: usize) -> usize {
        0
    }

    fn threads(&self) -> Threads {
        Threads::ONE
    }

    fn set_threads(&mut self, _: Threads) {}
}
