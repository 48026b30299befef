//! Text to token ids and back, one token per character: the [`Vocabulary`], and the folder in which it is saved so
//! that Hugging Face tokenizers reads it, too.
//!
//! ```
//! use tang_tokenizer::Vocabulary;
//!
//! let vocabulary = Vocabulary::from_texts(["床前明月光，疑是地上霜。"]);
//! let ids = vocabulary.encode("明月光")?;
//! assert_eq!(ids.len(), 3);
//! assert_eq!(vocabulary.decode(&ids)?, "明月光");
//! assert!(vocabulary.encode("山").is_err());
//! # Ok::<(), tang_tokenizer::TokenizerError>(())
//! ```

mod error;
mod tokenizer_file;
mod vocabulary;

pub use error::TokenizerError;
pub use tokenizer_file::{TOKENIZER_CONFIG_FILE, TOKENIZER_FILE};
pub use vocabulary::{COMMA_ID, FULL_STOP_ID, NEWLINE, TokenId, Vocabulary};
