//! Poems from a model: the pipeline from logits to a token, constraints that a poem must keep, one poem or many at
//! once, and searches.
//!
//! ```text
//! Task (prompt + constraints) -> Sequence -> Generator  (one row, an iterator of steps)
//!                                        \-> Batch  (many rows)
//! Decoder -> Logits -> mask -> penalty -> temperature -> top-k -> top-p -> Sampler -> token
//! ```
//!
//! ```
//! use std::sync::Arc;
//!
//! use tang_checkpoint::{ModelConfig, Weights};
//! use tang_engine::{CachedDecoder, Engine, Threads};
//! use tang_generate::{GenerationConfig, Generator, Task};
//! use tang_tokenizer::Vocabulary;
//!
//! let vocabulary = Vocabulary::from_texts(["床前明月光，疑是地上霜。"]);
//! let config = ModelConfig::tang_4l(vocabulary.len());
//! let engine = Arc::new(Engine::pack(&config, &Weights::random(&config, 0))?);
//! let mut decoder = CachedDecoder::new(&engine, Threads::ONE);
//!
//! let task = Task::continuation("明月", &vocabulary)?;
//! let settings = GenerationConfig {
//!     max_new_tokens: 5,
//!     ..GenerationConfig::default()
//! };
//! for step in Generator::new(&mut decoder, task, &settings)? {
//!     assert!(vocabulary.char(step?.token).is_some());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod constraint;
mod error;
mod generation;
mod sampling;
mod search;
mod task;

pub use constraint::{
    dead_end::DeadEnd,
    exemption::Exemption,
    rules::{Rule, Rules, Wanted},
};
pub use error::GenerateError;
pub use generation::{
    batch::{Batch, generate_batch},
    generator::Generator,
    sequence::{FinishReason, Sequence, Step},
};
pub use sampling::{generation_config::GenerationConfig, processor::top_p_count};
pub use search::{
    Search,
    beam_search::beam_search,
    best_of::best_of,
    next_tokens::{NextToken, next_tokens},
};
pub use task::Task;
