//! What can go wrong between text and ids.

use std::{io, path::PathBuf};

use tang_files::escape_value;
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
    /// An id beyond the end of the vocabulary.
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
        /// The system's answer.
        source: io::Error,
    },
    /// The file is not JSON, or not the JSON of a tokenizer.
    #[error("{} is not a tokenizer file: {reason}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The parser's answer.
        reason: String,
    },
    /// The file is a tokenizer, but not a vocabulary of this crate.
    #[error("{} holds no character vocabulary: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
}

/// What makes a vocabulary unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The model is of another kind, or merges characters.
    #[error(
        "its model is {} with {merges} merges, wanted BPE with 0 merges",
        escape_value(kind)
    )]
    Model {
        /// The type that the file names.
        kind: String,
        /// The number of merges.
        merges: usize,
    },
    /// A token is no single character, and no added token behind all characters.
    #[error("token {id} is `{}`, wanted a single character", escape_value(token))]
    NotOneCharacter {
        /// The id.
        id: TokenId,
        /// The token.
        token: String,
    },
    /// A character has two ids.
    #[error("`{}` has the ids {first} and {second}, wanted one", shown(*character))]
    RepeatedCharacter {
        /// The character.
        character: char,
        /// Its smaller id.
        first: TokenId,
        /// Its larger id.
        second: TokenId,
    },
    /// An id has two characters.
    #[error(
        "id {id} stands for two characters, `{}` and `{}`, wanted one",
        shown(*first),
        shown(*second)
    )]
    RepeatedId {
        /// The id.
        id: TokenId,
        /// One character.
        first: char,
        /// The other.
        second: char,
    },
    /// The ids do not run from 0 without a gap.
    #[error("id {id} is missing, wanted 0, 1, 2 and so on without a gap")]
    MissingId {
        /// The first id that is missing.
        id: TokenId,
    },
    /// The newline, which starts and ends every poem, is not token 0.
    #[error("id 0 is `{}`, wanted the newline", shown(*got))]
    NoNewline {
        /// The character found there.
        got: char,
    },
    /// Another character has the id of one of the two marks.
    #[error(
        "id {id} is `{}`, wanted `{wanted}`: ids 0 to 2 are the newline, `，` and `。`",
        shown(*got)
    )]
    Order {
        /// The first id that differs.
        id: TokenId,
        /// The character that belongs there.
        wanted: char,
        /// The character found there.
        got: char,
    },
}

/// A character of a file in an error message.
fn shown(character: char) -> String {
    escape_value(&character.to_string())
}
