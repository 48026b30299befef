//! Errors between text and ids.

use std::{io, path::PathBuf};

use tang_prosody::PlacedCharacter;

use crate::TokenId;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The text has characters that the vocabulary lacks.
    #[error(
        "{}, {} in the vocabulary: use {}",
        PlacedCharacter::list(characters),
        if characters.len() == 1 { "is not" } else { "are not" },
        if characters.len() == 1 { "another" } else { "others" }
    )]
    UnknownCharacters {
        /// All of them.
        characters: Vec<PlacedCharacter>,
    },
    /// An id is beyond the end of the vocabulary.
    #[error(
        "token id {id} is out of range: the vocabulary has {size} tokens; \
         do the ids come from a model with another vocabulary?"
    )]
    UnknownId {
        /// The id.
        id: TokenId,
        /// The number of tokens.
        size: usize,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read`, `write` or `create`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not JSON, or not the JSON of a tokenizer.
    #[error("{} is not a tokenizer file: {reason}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The error of the parser.
        reason: String,
    },
    /// The file is a tokenizer, but not a vocabulary of this crate.
    #[error("{} holds no character vocabulary: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The wrong token or id, and the right one.
        damage: String,
    },
}
