//! Decoding with the key/value cache.

use tang_model::{KvCache, ModelError, Transformer};
use tang_tokenizer::TokenId;

use crate::{
    Decoder, Logits,
    decoder::{last_logits, padded},
};

/// Sends each token through the model once and keeps its keys and values: P + (N - 1) tokens for
/// a prompt of P and N new ones.
#[derive(Debug)]
pub struct CachedDecoder<'a> {
    model: &'a Transformer,
    cache: KvCache,
    forwarded: usize,
}

impl<'a> CachedDecoder<'a> {
    /// A decoder without sequences.
    pub fn new(model: &'a Transformer) -> Self {
        Self {
            model,
            cache: new_cache(model, 0),
            forwarded: 0,
        }
    }

    /// The cache as it is now.
    pub fn cache(&self) -> &KvCache {
        &self.cache
    }
}

fn new_cache(model: &Transformer, batch: usize) -> KvCache {
    let config = model.config();
    KvCache::new(config, batch, config.context, &model.device())
}

impl Decoder for CachedDecoder<'_> {
    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, ModelError> {
        let lengths: Vec<usize> = prompts.iter().map(|prompt| prompt.len()).collect();
        self.cache = new_cache(self.model, prompts.len());
        let ids = padded(self.model, prompts);
        let hidden = self.model.forward(ids, Some(&mut self.cache))?;
        // What the padding wrote is forgotten before anything could see it.
        self.cache.truncate(&lengths);
        self.forwarded += lengths.iter().sum::<usize>();
        last_logits(self.model, hidden, &lengths)
    }

    fn decode(&mut self, tokens: &[TokenId]) -> Result<Logits, ModelError> {
        let rows: Vec<&[TokenId]> = tokens.chunks(1).collect();
        let ids = padded(self.model, &rows);
        let hidden = self.model.forward(ids, Some(&mut self.cache))?;
        self.forwarded += tokens.len();
        last_logits(self.model, hidden, &vec![1; tokens.len()])
    }

    fn select(&mut self, rows: &[usize]) {
        self.cache.select(rows);
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded
    }
}
