//! Poems from a model: the pipeline from logits to a token, constraints that a poem must keep, one poem or
//! many at once, and searches.
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

mod batch;
mod batch_part;
mod beam_search;
mod best_of;
mod candidates;
mod constraint;
mod dead_end;
mod error;
mod exemption;
mod form_constraint;
mod generation_config;
mod generator;
mod logits_processor;
mod next_tokens;
mod no_repeat_constraint;
mod pipeline;
mod queue;
mod repetition_penalty;
mod rhyme_constraint;
mod rows;
mod rule;
mod rules;
mod sampler;
mod search;
mod sequence;
mod task;
mod temperature;
mod template_constraint;
mod tie;
mod token_readings;
mod tone_constraint;
mod top_k;
mod top_p;

pub use batch::{Batch, generate_batch};
pub use beam_search::beam_search;
pub use best_of::best_of;
pub use dead_end::DeadEnd;
pub use error::GenerateError;
pub use exemption::Exemption;
pub use generation_config::GenerationConfig;
pub use generator::Generator;
pub use next_tokens::{NextToken, next_tokens};
pub use rule::Rule;
pub use rules::{Rules, Wanted};
pub use search::Search;
pub use sequence::{FinishReason, Sequence, Step};
pub use task::Task;
pub use top_p::top_p_count;
