//! Decoding with the key/value cache.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tang_kernels::Threads;
use tang_tokenizer::TokenId;

use crate::{CacheBytes, Decoder, Engine, EngineError, KvCache, Logits, PrefixCache};

/// Sends each token through the model once and keeps its keys and values: P + (N - 1) tokens for a prompt of P and N
/// new ones.
#[derive(Debug)]
pub struct CachedDecoder {
    engine: Arc<Engine>,
    threads: Threads,
    prefix: Option<Arc<PrefixCache>>,
    cache: KvCache,
    forwarded: Arc<AtomicUsize>,
}

impl CachedDecoder {
    /// A decoder without sequences.
    pub fn new(engine: &Arc<Engine>, threads: Threads) -> Self {
        Self {
            engine: Arc::clone(engine),
            threads,
            prefix: None,
            cache: KvCache::new(engine.config(), 0),
            forwarded: Arc::default(),
        }
    }

    /// A decoder without sequences, whose prefill does not compute again the tokens that all prompts of a batch have
    /// in common with `prefix`.
    pub fn with_prefix(prefix: Arc<PrefixCache>, threads: Threads) -> Self {
        Self { prefix: Some(Arc::clone(&prefix)), ..Self::new(prefix.engine(), threads) }
    }

    /// The cache as it is now.
    pub fn cache(&self) -> &KvCache {
        &self.cache
    }

    /// The hidden states of new tokens of each row.
    fn forward(&mut self, rows: &[&[TokenId]]) -> Result<Vec<f32>, EngineError> {
        let hidden = self.engine.forward(rows, &mut self.cache, self.threads)?;
        let added = rows.iter().map(|row| row.len()).sum();
        self.forwarded.fetch_add(added, Ordering::Relaxed);
        Ok(hidden)
    }
}

/// The logits after the last token of each row.
///
/// # Shapes
///
/// - hidden: `[tokens of all rows, width]`
pub(crate) fn last_logits(
    engine: &Engine,
    hidden: &[f32],
    rows: &[&[TokenId]],
    threads: Threads,
) -> Result<Logits, EngineError> {
    let width = engine.config().width;
    if hidden.len() == rows.len() * width {
        return engine.logits(hidden, threads);
    }
    let mut last = Vec::with_capacity(rows.len() * width);
    let mut end = 0;
    for row in rows {
        end += row.len() * width;
        last.extend_from_slice(&hidden[end - width..end]);
    }
    engine.logits(&last, threads)
}

impl Decoder for CachedDecoder {
    fn context(&self) -> usize {
        self.engine.config().context
    }

    fn reserve(&mut self, rows: usize, tokens: usize) -> Result<(), EngineError> {
        self.cache.reserve(rows, tokens)
    }

    fn start(&mut self, rows: usize) {
        self.cache.start(rows);
    }

    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, EngineError> {
        let mut shared = 0;
        if let Some(prefix) = &self.prefix {
            shared = prefix.shared_by(prompts);
            self.cache = prefix.rows(prompts.len(), shared).reserved_as(&self.cache);
        } else {
            self.start(prompts.len());
        }
        let rest: Vec<&[TokenId]> = prompts.iter().map(|prompt| &prompt[shared..]).collect();
        self.append(&rest)
    }

    fn lengths(&self) -> Vec<usize> {
        self.cache.lengths().to_vec()
    }

    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, EngineError> {
        let hidden = self.forward(rows)?;
        last_logits(&self.engine, &hidden, rows, self.threads)
    }

    fn position_logits(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let hidden = self.forward(&[tokens])?;
        self.engine.logits(&hidden, self.threads)
    }

    fn select(&mut self, rows: &[usize]) {
        self.cache.select(rows);
    }

    fn truncate(&mut self, lengths: &[usize]) {
        self.cache.truncate(lengths);
    }

    fn fork(&self) -> Option<Box<dyn Decoder>> {
        Some(Box::new(Self {
            prefix: self.prefix.clone(),
            forwarded: Arc::clone(&self.forwarded),
            ..Self::new(&self.engine, Threads::ONE)
        }))
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }

    fn cache_bytes(&self) -> CacheBytes {
        CacheBytes { used: self.cache.used_bytes(), allocated: self.cache.allocated_bytes() }
    }

    fn capacity_for(&self, tokens: usize) -> usize {
        KvCache::capacity_for(tokens)
    }

    fn threads(&self) -> Threads {
        self.threads
    }

    fn set_threads(&mut self, threads: Threads) {
        self.threads = threads;
    }
}
