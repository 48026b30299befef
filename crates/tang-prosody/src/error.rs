//! Errors of given forms, rhymes, sequences and templates.

use crate::PlacedCharacter;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProsodyError {
    /// There is no form, rhyme group or sequence of this name.
    #[error("unknown {kind} `{name}`: use one of {known}")]
    Unknown {
        /// The kind that was asked for.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// All names.
        known: String,
    },
    /// The number is no line length of regulated verse.
    #[error("a line of {length} characters is not regulated verse: use 5 or 7")]
    LineLength {
        /// The length that was given.
        length: String,
    },
    /// A line is to have characters that are no Han characters.
    #[error(
        "{}, cannot stand in a line: use Han characters only",
        PlacedCharacter::list(characters)
    )]
    NotHan {
        /// All of them, with their places in what was given.
        characters: Vec<PlacedCharacter>,
    },
    /// A template has no line.
    #[error("the template is empty: write lines such as 春****，眠****。")]
    EmptyTemplate,
    /// The lines of a template differ in length.
    #[error(
        "line {line} has {length} characters, line 1 has {first}: all lines of a poem are equally long"
    )]
    UnevenTemplate {
        /// The line, counted from 1.
        line: usize,
        /// Its characters.
        length: usize,
        /// Those of the first line.
        first: usize,
    },
}
