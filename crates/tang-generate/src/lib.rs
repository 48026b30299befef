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
//! use tang_engine::ScriptedDecoder;
//! use tang_generate::{GenerationConfig, Generator, Task};
//! use tang_tokenizer::Vocabulary;
//!
//! let vocabulary = Vocabulary::from_texts(["床前明月光，疑是地上霜。"]);
//! let (line, size) = (vocabulary.encode("床前明月光，")?, vocabulary.len());
//! // In place of a model: after the newline and n characters, character n of the line is the likeliest.
//! let mut decoder = ScriptedDecoder::new(16, move |tokens| {
//!     let mut logits = vec![0.0; size];
//!     logits[line[tokens.len() - 1] as usize] = 9.0;
//!     logits
//! });
//! let task = Task::continuation("床前", &vocabulary)?;
//! let settings =
//!     GenerationConfig { temperature: 0.0, max_new_tokens: 4, ..GenerationConfig::default() };
//! let mut text = String::new();
//! for step in Generator::new(&mut decoder, task, &settings)? {
//!     text.extend(vocabulary.char(step?.token));
//! }
//! assert_eq!(text, "明月光，");
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
    plan::WordPlace,
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
