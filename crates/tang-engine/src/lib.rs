//! Inference on the CPU without a tensor library.
//!
//! [`Engine::pack`] arranges the weights of a model once for the products that decoding needs; `network/forward.rs`
//! is the forward pass through the layers, top to bottom. A [`KvCache`] keeps the keys and values of earlier tokens.
//! A [`Decoder`] grows a batch of sequences by one token per step: [`CachedDecoder`] with the cache, [`FullDecoder`]
//! without, to compare it with, and [`ScriptedDecoder`] without a model, for examples and tests.
//!
//! Every sum is added in one fixed order, whatever the rows, the threads or the cache around it. So on one kind of
//! processor the logits of a sequence are the same bits alone and in a batch, on one thread and several, with the
//! cache and without, and with the prompt cut anywhere.
//!
//! ```
//! use std::sync::Arc;
//!
//! use tang_checkpoint::{ModelConfig, Weights};
//! use tang_engine::{CachedDecoder, Decoder, Engine, Threads};
//!
//! let config = ModelConfig::tang_4l(100);
//! let engine = Arc::new(Engine::pack(&config, &Weights::random(&config, 0))?);
//! let mut decoder = CachedDecoder::new(&engine, Threads::ONE);
//! let logits = decoder.prefill(&[&[0, 7, 9]])?;
//! assert_eq!(logits.row(0).len(), 100);
//! decoder.decode(&[12])?;
//! # Ok::<(), tang_engine::EngineError>(())
//! ```

mod cache;
mod decoder;
mod error;
mod network;

pub use cache::kv_cache::KvCache;
pub use decoder::{
    CacheBytes, Decoder, Model, cached_decoder::CachedDecoder, full_decoder::FullDecoder,
    prefix_cache::PrefixCache, scripted_decoder::ScriptedDecoder, shared_tokens,
};
pub use error::EngineError;
pub use network::{
    engine::Engine,
    logits::{Logits, entropy},
};
pub use tang_kernels::Threads;
