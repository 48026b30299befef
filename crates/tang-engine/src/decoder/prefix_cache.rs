//! The keys and values of a text that many prompts begin with.

use std::sync::Arc;

use tang_kernels::Threads;
use tang_tokenizer::TokenId;

use crate::{Engine, EngineError, KvCache, shared_tokens};

/// A prefix that went through the model once. For prompts that begin with it, only the tokens after
/// it are computed: [`CachedDecoder::with_prefix`](crate::CachedDecoder::with_prefix).
///
/// This is exact, since attention is causal: keys and values of a token do not depend on the tokens after it.
#[derive(Debug)]
pub struct PrefixCache {
    engine: Arc<Engine>,
    tokens: Vec<TokenId>,
    /// One row, of `tokens`.
    cache: KvCache,
}

impl PrefixCache {
    /// Sends `tokens` through the model.
    ///
    /// # Errors
    ///
    /// [`EngineError::TextTooLong`] if there are more than the context has.
    ///
    /// # Panics
    ///
    /// If there is no token.
    pub fn new(
        engine: &Arc<Engine>,
        tokens: &[TokenId],
        threads: Threads,
    ) -> Result<Self, EngineError> {
        assert!(!tokens.is_empty(), "a prefix has at least one token");
        let mut cache = KvCache::new(engine.config(), 1);
        engine.forward(&[tokens], &mut cache, threads)?;
        Ok(Self { engine: Arc::clone(engine), tokens: tokens.to_vec(), cache })
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Count of tokens that all prompts share with the prefix: [`shared_tokens`].
    pub(crate) fn shared_by(&self, prompts: &[&[TokenId]]) -> usize {
        let shared = prompts.iter().map(|prompt| shared_tokens(prompt, &self.tokens));
        shared.min().unwrap_or(0)
    }

    /// A cache of `rows` rows, each of the first `length` tokens of the prefix.
    pub(crate) fn rows(&self, rows: usize, length: usize) -> KvCache {
        let mut cache = self.cache.clone();
        cache.truncate(&[length]);
        cache.select(&vec![0; rows]);
        cache
    }
}
