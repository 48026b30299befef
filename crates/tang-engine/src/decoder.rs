//! The interface between a model and the loop that generates.

pub(crate) mod cached_decoder;
pub(crate) mod full_decoder;
pub(crate) mod prefix_cache;
pub(crate) mod scripted_decoder;

use tang_checkpoint::{ModelConfig, Weights};
use tang_kernels::Threads;
use tang_tokenizer::TokenId;

use crate::{EngineError, Logits};

/// A batch of sequences that grow by one token per step.
///
/// [`CachedDecoder`](crate::CachedDecoder) sends each token through the model once,
/// [`FullDecoder`](crate::FullDecoder) all of them at each step; both give the same logits.
pub trait Decoder: Send {
    /// Count of positions that the model has.
    fn context(&self) -> usize;

    /// Announces at most `rows` sequences, those of all [forks](Self::fork) counted, of at most `tokens` tokens each,
    /// prompts included.
    ///
    /// # Errors
    ///
    /// [`EngineError::CacheTooLarge`] if there is not enough memory for them.
    fn reserve(&mut self, rows: usize, tokens: usize) -> Result<(), EngineError> {
        let _ = (rows, tokens);
        Ok(())
    }

    /// Forgets all sequences and starts `rows` empty ones.
    fn start(&mut self, rows: usize);

    /// Count of tokens of each sequence.
    fn lengths(&self) -> Vec<usize>;

    /// Adds at least one token to each sequence and gives the logits after the last one of each.
    ///
    /// # Errors
    ///
    /// [`EngineError::TextTooLong`] if the new tokens of a sequence are more than the context,
    /// [`EngineError::ContextFull`] if the sequence would grow past it, [`EngineError::CacheTooLarge`] if there is no
    /// memory for them, [`EngineError::Overflow`] if a logit is no finite number.
    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, EngineError>;

    /// Adds tokens to the only sequence and gives the logits after each of them, one row per token.
    ///
    /// # Errors
    ///
    /// Those of [`append`](Self::append).
    fn position_logits(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError>;

    /// Makes sequence `rows[i]` the new sequence `i`: drops, reorders or duplicates.
    fn select(&mut self, rows: &[usize]);

    /// Forgets all tokens of sequence `i` but the first `lengths[i]`.
    fn truncate(&mut self, lengths: &[usize]);

    /// Another decoder of the same model, without sequences, for one more thread; the tokens that it sends through
    /// the model count here, too. `None` on a GPU, where one decoder for all sequences is faster.
    fn fork(&self) -> Option<Box<dyn Decoder>>;

    /// Count of tokens that went through the model so far.
    fn forwarded_tokens(&self) -> usize;

    /// Bytes of keys and values; 0 without a cache.
    fn cache_bytes(&self) -> CacheBytes {
        CacheBytes::default()
    }

    /// Capacity, in tokens, of a row of `tokens` tokens if exactly `tokens` were announced; 0
    /// without a cache.
    fn capacity_for(&self, tokens: usize) -> usize {
        let _ = tokens;
        0
    }

    /// Threads that it may use.
    fn threads(&self) -> Threads;

    /// Changes the threads that it may use; no result depends on them.
    fn set_threads(&mut self, threads: Threads);

    /// Starts new sequences with these prompts, and gives the logits after each.
    ///
    /// # Errors
    ///
    /// Those of [`append`](Self::append).
    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, EngineError> {
        self.start(prompts.len());
        self.append(prompts)
    }

    /// Adds one token to each sequence and gives the logits after it.
    ///
    /// # Errors
    ///
    /// Those of [`append`](Self::append).
    fn decode(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let rows: Vec<&[TokenId]> = tokens.chunks(1).collect();
        self.append(&rows)
    }
}

/// Length of the common prefix of a prompt and the tokens `cached`. The last token of the prompt is
/// never counted, since the logits after it have to be computed.
pub fn shared_tokens(prompt: &[TokenId], cached: &[TokenId]) -> usize {
    let pairs = prompt[..prompt.len() - 1].iter().zip(cached);
    pairs.take_while(|(a, b)| a == b).count()
}

/// Bytes of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheBytes {
    /// Bytes of the tokens that are cached.
    pub used: usize,
    /// Bytes of memory that is set aside.
    pub allocated: usize,
}

/// A model that decodes: an [`Engine`](crate::Engine) on the CPU, or a network on a GPU.
pub trait Model: Send + Sync {
    /// The geometry.
    fn config(&self) -> &ModelConfig;

    /// A decoder with the key/value cache.
    fn cached(&self, threads: Threads) -> Box<dyn Decoder>;

    /// A decoder with the key/value cache, whose prefills do not compute again the tokens that all prompts have in
    /// common with `prefix`.
    ///
    /// # Errors
    ///
    /// [`EngineError::TextTooLong`] if the prefix is longer than the context.
    ///
    /// # Panics
    ///
    /// If the prefix is empty.
    fn cached_after(
        &self,
        prefix: &[TokenId],
        threads: Threads,
    ) -> Result<Box<dyn Decoder>, EngineError>;

    /// A decoder without a cache.
    fn uncached(&self, threads: Threads) -> Box<dyn Decoder>;

    /// A model of other weights on the same device.
    ///
    /// # Errors
    ///
    /// [`EngineError::Model`] if the weights are not those of the configuration.
    fn of_weights(
        &self,
        config: &ModelConfig,
        weights: &Weights,
    ) -> Result<Box<dyn Model>, EngineError>;
}
