//! Decoding with the key/value cache.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tang_model::{KvCache, ModelError, Transformer, device::is_cpu};
use tang_tokenizer::TokenId;

use crate::{
    Decoder, Logits, PrefixCache,
    decoder::{last_logits, padded},
};

/// Sends each token through the model once and keeps its keys and values: P + (N - 1) tokens for
/// a prompt of P and N new ones.
#[derive(Debug)]
pub struct CachedDecoder<'a> {
    model: &'a Transformer,
    prefix: Option<&'a PrefixCache<'a>>,
    cache: KvCache,
    forwarded: Arc<AtomicUsize>,
}

impl<'a> CachedDecoder<'a> {
    /// A decoder without sequences.
    pub fn new(model: &'a Transformer) -> Self {
        Self {
            model,
            prefix: None,
            cache: empty_cache(model, 0),
            forwarded: Arc::default(),
        }
    }

    /// A decoder without sequences, whose prefill does not compute again what all prompts of a
    /// batch have in common with `prefix`.
    pub fn with_prefix(prefix: &'a PrefixCache<'a>) -> Self {
        Self {
            prefix: Some(prefix),
            ..Self::new(prefix.model())
        }
    }

    /// The cache as it is now.
    pub fn cache(&self) -> &KvCache {
        &self.cache
    }

    /// Adds tokens to each row, as many as it has, and gives the logits behind its last one.
    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, ModelError> {
        let added: Vec<usize> = rows.iter().map(|row| row.len()).collect();
        let held = self.cache.lengths().iter();
        let ends: Vec<usize> = held.zip(&added).map(|(held, new)| held + new).collect();
        let ids = padded(self.model, rows);
        let hidden = self.model.forward(ids, Some(&mut self.cache))?;
        // What the padding wrote is forgotten before anything could see it.
        self.cache.truncate(&ends);
        let forwarded = added.iter().sum();
        self.forwarded.fetch_add(forwarded, Ordering::Relaxed);
        last_logits(self.model, hidden, &added)
    }
}

/// A cache of `rows` rows with room for the whole context.
pub(crate) fn empty_cache(model: &Transformer, rows: usize) -> KvCache {
    let config = model.config();
    KvCache::new(config, rows, config.context, &model.device())
}

impl Decoder for CachedDecoder<'_> {
    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, ModelError> {
        let mut shared = 0;
        if let Some(prefix) = self.prefix {
            shared = prefix.shared_by(prompts);
            self.cache = prefix.rows(prompts.len(), shared);
        } else if self.cache.lengths().len() == prompts.len() {
            // Memory of the right size is there.
            self.cache.clear();
        } else {
            self.cache = empty_cache(self.model, prompts.len());
        }
        let rest: Vec<&[TokenId]> = prompts.iter().map(|prompt| &prompt[shared..]).collect();
        self.append(&rest)
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Result<Logits, ModelError> {
        let rows: Vec<&[TokenId]> = tokens.chunks(1).collect();
        self.append(&rows)
    }

    fn select(&mut self, rows: &[usize]) {
        self.cache.select(rows);
    }

    fn truncate(&mut self, lengths: &[usize]) {
        self.cache.truncate(lengths);
    }

    fn fork(&self) -> Option<Self> {
        is_cpu(&self.model.device()).then(|| Self {
            cache: empty_cache(self.model, 0),
            forwarded: Arc::clone(&self.forwarded),
            ..*self
        })
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }
}
