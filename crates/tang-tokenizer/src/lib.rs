//! Text to token ids and back, one token a character: the [`Vocabulary`], and the folder in which
//! it is saved so that Hugging Face tokenizers reads it too. No tensor type appears here.

mod error;
mod tokenizer_file;
mod vocabulary;

pub use error::{Damage, TokenizerError};
pub use tokenizer_file::{TOKENIZER_CONFIG_FILE, TOKENIZER_FILE};
pub use vocabulary::{COMMA, FULL_STOP, NEWLINE, TokenId, Vocabulary};
