//! The keys and values of a text that many prompts begin with.

use tang_model::{KvCache, ModelError, Transformer};
use tang_tokenizer::TokenId;

use crate::decoder::padded;

/// A prefix that went through the model once. Each batch of prompts that begin with it pays only
/// for the rest: [`CachedDecoder::with_prefix`](crate::CachedDecoder::with_prefix).
///
/// This is exact, since attention is causal: keys and values of a token do not depend on what
/// follows it.
#[derive(Debug)]
pub struct PrefixCache<'a> {
    model: &'a Transformer,
    tokens: Vec<TokenId>,
    /// One row, which holds `tokens`.
    cache: KvCache,
}

impl<'a> PrefixCache<'a> {
    /// Sends `tokens` through the model.
    ///
    /// # Errors
    ///
    /// [`ModelError::TextTooLong`] if there are more than the context holds.
    ///
    /// # Panics
    ///
    /// If there is no token.
    pub fn new(model: &'a Transformer, tokens: &[TokenId]) -> Result<Self, ModelError> {
        assert!(!tokens.is_empty(), "a prefix has at least one token");
        let (config, device) = (model.config(), model.device());
        let capacity = KvCache::capacity_for(config, tokens.len(), &device);
        let mut cache = KvCache::new(config, 1, capacity, &device);
        model.forward(padded(model, &[tokens]), Some(&mut cache))?;
        Ok(Self {
            model,
            tokens: tokens.to_vec(),
            cache,
        })
    }

    pub(crate) fn model(&self) -> &'a Transformer {
        self.model
    }

    /// How many tokens all prompts have in common with the prefix. The last token of a prompt is
    /// never among them: the logits behind it are still to be computed.
    pub(crate) fn shared_by(&self, prompts: &[&[TokenId]]) -> usize {
        let common = |prompt: &&[TokenId]| {
            let pairs = prompt[..prompt.len() - 1].iter().zip(&self.tokens);
            pairs.take_while(|(a, b)| a == b).count()
        };
        prompts.iter().map(common).min().unwrap_or(0)
    }

    /// A cache of `rows` rows, each holding the first `length` tokens of the prefix, with room for `capacity`.
    pub(crate) fn rows(&self, rows: usize, length: usize, capacity: usize) -> KvCache {
        let mut cache = self.cache.clone();
        cache.truncate(&[length]);
        cache.grow(capacity);
        cache.select(&vec![0; rows]);
        cache
    }
}
