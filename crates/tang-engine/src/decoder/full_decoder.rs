//! Decoding without a cache, as the reference for the cache.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tang_kernels::Threads;
use tang_tokenizer::TokenId;

use super::cached_decoder::last_logits;
use crate::{Decoder, Engine, EngineError, KvCache, Logits};

/// Sends every token through the model again at each step: P N + N (N - 1) / 2 tokens for a prompt of P and N new
/// ones. It has no state but the tokens, so the cache is compared with it.
#[derive(Debug)]
pub struct FullDecoder {
    engine: Arc<Engine>,
    threads: Threads,
    rows: Vec<Vec<TokenId>>,
    forwarded: Arc<AtomicUsize>,
}

impl FullDecoder {
    /// A decoder without sequences.
    pub fn new(engine: &Arc<Engine>, threads: Threads) -> Self {
        Self { engine: Arc::clone(engine), threads, rows: Vec::new(), forwarded: Arc::default() }
    }

    /// Adds the new tokens and sends all tokens of all rows through the model. Returns their hidden
    /// states.
    fn forward(&mut self, new: &[&[TokenId]]) -> Result<Vec<f32>, EngineError> {
        assert_eq!(new.len(), self.rows.len(), "new tokens of each sequence");
        for (row, new) in self.rows.iter_mut().zip(new) {
            row.extend_from_slice(new);
        }
        let rows: Vec<&[TokenId]> = self.rows.iter().map(Vec::as_slice).collect();
        // A cache for this step only.
        let mut scratch = KvCache::new(self.engine.config(), rows.len());
        let hidden = match self.engine.forward(&rows, &mut scratch, self.threads) {
            Ok(hidden) => hidden,
            Err(error) => {
                for (row, new) in self.rows.iter_mut().zip(new) {
                    row.truncate(row.len() - new.len());
                }
                return Err(error);
            }
        };
        let forwarded = rows.iter().map(|row| row.len()).sum();
        self.forwarded.fetch_add(forwarded, Ordering::Relaxed);
        Ok(hidden)
    }
}

impl Decoder for FullDecoder {
    fn context(&self) -> usize {
        self.engine.config().context
    }

    fn start(&mut self, rows: usize) {
        self.rows = vec![Vec::new(); rows];
    }

    fn lengths(&self) -> Vec<usize> {
        self.rows.iter().map(Vec::len).collect()
    }

    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, EngineError> {
        let hidden = self.forward(rows)?;
        let rows: Vec<&[TokenId]> = self.rows.iter().map(Vec::as_slice).collect();
        last_logits(&self.engine, &hidden, &rows, self.threads)
    }

    fn position_logits(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let hidden = self.forward(&[tokens])?;
        let new = hidden.len() - tokens.len() * self.engine.config().width;
        self.engine.logits(&hidden[new..], self.threads)
    }

    fn select(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|row| self.rows[*row].clone()).collect();
    }

    fn truncate(&mut self, lengths: &[usize]) {
        assert_eq!(lengths.len(), self.rows.len(), "one length per sequence");
        for (row, length) in self.rows.iter_mut().zip(lengths) {
            row.truncate(*length);
        }
    }

    fn fork(&self) -> Option<Box<dyn Decoder>> {
        Some(Box::new(Self {
            forwarded: Arc::clone(&self.forwarded),
            ..Self::new(&self.engine, Threads::ONE)
        }))
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }

    fn threads(&self) -> Threads {
        self.threads
    }

    fn set_threads(&mut self, threads: Threads) {
        self.threads = threads;
    }
}
