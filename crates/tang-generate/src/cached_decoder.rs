//! Decoding with the key/value cache.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tang_model::{KvCache, ModelError, Transformer, check_cache_memory, device::is_cpu};
use tang_tokenizer::TokenId;

use crate::{
    Decoder, Logits, PrefixCache,
    decoder::{last_logits, padded},
};

/// Tokens for which there is room at once, even if many more may come: a poem has fewer.
const FIRST: usize = 128;

/// Tokens of all rows that go through the model at once in a prefill, where all rows have more.
const PIECE: usize = 1 << 14;

/// Sends each token through the model once and keeps its keys and values: P + (N - 1) tokens for
/// a prompt of P and N new ones.
///
/// Memory is set aside for the tokens that [`reserve`](Decoder::reserve) spoke of, up to 128 a row; whenever
/// that is full, for twice as many.
#[derive(Debug)]
pub struct CachedDecoder<'a> {
    model: &'a Transformer,
    prefix: Option<&'a PrefixCache<'a>>,
    cache: KvCache,
    /// Rows and tokens that are to come at the most.
    reserved: (usize, usize),
    forwarded: Arc<AtomicUsize>,
}

impl<'a> CachedDecoder<'a> {
    /// A decoder without sequences.
    pub fn new(model: &'a Transformer) -> Self {
        Self {
            model,
            prefix: None,
            cache: no_cache(model),
            reserved: (0, usize::MAX),
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

    /// The capacity to begin with, if the longest prompt has so many tokens.
    fn first_capacity(&self, longest: usize) -> usize {
        self.capacity_for(self.reserved.1.min(FIRST).max(longest))
    }

    fn capacity_for(&self, tokens: usize) -> usize {
        KvCache::capacity_for(self.model.config(), tokens, &self.model.device())
    }

    /// Makes room for so many tokens a row, or for the whole context if that is less.
    fn make_room(&mut self, tokens: usize) -> Result<(), ModelError> {
        let held = self.cache.capacity();
        if tokens <= held || held == self.model.config().context {
            return Ok(());
        }
        let twice = (2 * held).min(self.reserved.1);
        let capacity = self.capacity_for(tokens.max(twice));
        self.check_memory(self.cache.lengths().len(), held, capacity)?;
        self.cache.grow(capacity);
        Ok(())
    }

    /// Checks that there is memory for so many tokens in each of `rows` rows, and of all others that may be
    /// there at the same time; each has `held` already.
    fn check_memory(&self, rows: usize, held: usize, tokens: usize) -> Result<(), ModelError> {
        // The memory of another device is not this machine's.
        if !is_cpu(&self.model.device()) {
            return Ok(());
        }
        check_cache_memory(self.model.config(), rows.max(self.reserved.0), held, tokens)
    }

    /// Adds tokens to each row, as many as it has, and gives the logits behind its last one.
    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, ModelError> {
        let added: Vec<usize> = rows.iter().map(|row| row.len()).collect();
        let held = self.cache.lengths();
        let ends: Vec<usize> = held
            .iter()
            .zip(&added)
            .map(|(held, new)| held + new)
            .collect();
        let longest = held.iter().max().zip(added.iter().max());
        self.make_room(longest.map_or(0, |(held, new)| held + new))?;
        let ids = padded(self.model, rows);
        let hidden = self.model.forward(ids, Some(&mut self.cache))?;
        // What the padding wrote is forgotten before anything could see it.
        self.cache.truncate(&ends);
        let forwarded = added.iter().sum();
        self.forwarded.fetch_add(forwarded, Ordering::Relaxed);
        last_logits(self.model, hidden, &added)
    }
}

/// A cache without rows.
fn no_cache(model: &Transformer) -> KvCache {
    KvCache::new(model.config(), 0, 1, &model.device())
}

impl Decoder for CachedDecoder<'_> {
    fn reserve(&mut self, rows: usize, tokens: usize) -> Result<(), ModelError> {
        self.reserved = (rows, tokens);
        self.check_memory(rows, 0, self.first_capacity(0))
    }

    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, ModelError> {
        let longest = prompts.iter().map(|prompt| prompt.len()).max().unwrap_or(0);
        let capacity = self.first_capacity(longest);
        let mut shared = 0;
        if let Some(prefix) = self.prefix {
            self.check_memory(prompts.len(), 0, capacity)?;
            shared = prefix.shared_by(prompts);
            self.cache = prefix.rows(prompts.len(), shared, capacity);
        } else if self.cache.lengths().len() == prompts.len() {
            // Memory is there, if not enough of it.
            self.cache.clear();
            self.make_room(capacity)?;
        } else {
            // The old memory is given back first.
            self.cache = no_cache(self.model);
            self.check_memory(prompts.len(), 0, capacity)?;
            let model = self.model;
            self.cache = KvCache::new(model.config(), prompts.len(), capacity, &model.device());
        }
        let mut rest: Vec<&[TokenId]> = prompts.iter().map(|prompt| &prompt[shared..]).collect();
        // A text that is too long is refused as a whole.
        let piece = match longest > self.model.config().context {
            true => longest,
            false => (PIECE / rest.len().max(1)).max(1),
        };
        let shortest = |rows: &[&[TokenId]]| rows.iter().map(|row| row.len()).min();
        while shortest(&rest).is_some_and(|shortest| shortest > piece) {
            let (first, behind): (Vec<_>, _) = rest.iter().map(|row| row.split_at(piece)).unzip();
            self.append(&first)?;
            rest = behind;
        }
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
            cache: no_cache(self.model),
            forwarded: Arc::clone(&self.forwarded),
            ..*self
        })
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }
}
