//! Decoding without a cache: the oracle.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tang_model::{ModelError, Transformer, device::is_cpu};
use tang_tokenizer::TokenId;

use crate::{
    Decoder, Logits,
    decoder::{last_logits, padded},
};

/// Sends every token through the model again at each step: P N + N (N - 1) / 2 tokens for a prompt
/// of P and N new ones. It has no state but the tokens, so it is what the cache is compared with.
#[derive(Debug)]
pub struct FullDecoder<'a> {
    model: &'a Transformer,
    rows: Vec<Vec<TokenId>>,
    forwarded: Arc<AtomicUsize>,
}

impl<'a> FullDecoder<'a> {
    /// A decoder without sequences.
    pub fn new(model: &'a Transformer) -> Self {
        Self {
            model,
            rows: Vec::new(),
            forwarded: Arc::default(),
        }
    }

    fn forward(&mut self) -> Result<Logits, ModelError> {
        let rows: Vec<&[TokenId]> = self.rows.iter().map(Vec::as_slice).collect();
        let lengths: Vec<usize> = rows.iter().map(|row| row.len()).collect();
        let hidden = self.model.forward(padded(self.model, &rows), None)?;
        let forwarded = lengths.iter().sum();
        self.forwarded.fetch_add(forwarded, Ordering::Relaxed);
        last_logits(self.model, hidden, &lengths)
    }
}

impl Decoder for FullDecoder<'_> {
    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, ModelError> {
        self.rows = prompts.iter().map(|prompt| prompt.to_vec()).collect();
        self.forward()
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Result<Logits, ModelError> {
        assert_eq!(tokens.len(), self.rows.len(), "one token a sequence");
        for (row, token) in self.rows.iter_mut().zip(tokens) {
            row.push(*token);
        }
        self.forward()
    }

    fn select(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|row| self.rows[*row].clone()).collect();
    }

    fn truncate(&mut self, lengths: &[usize]) {
        assert_eq!(lengths.len(), self.rows.len(), "one length a sequence");
        for (row, length) in self.rows.iter_mut().zip(lengths) {
            row.truncate(*length);
        }
    }

    fn fork(&self) -> Option<Self> {
        is_cpu(&self.model.device()).then(|| Self {
            rows: Vec::new(),
            forwarded: Arc::clone(&self.forwarded),
            ..*self
        })
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }
}
