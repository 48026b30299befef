//! What can go wrong when a form, a rhyme, a sequence or a template is given.

use crate::PlacedCharacter;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProsodyError {
    /// The name is none of the four forms.
    #[error("unknown form `{name}`: use one of 五绝, 七绝, 五律, 七律")]
    UnknownForm {
        /// The name that was given.
        name: String,
    },
    /// The number is no line length of regulated verse.
    #[error("a line of {length} characters is not regulated verse: use 5 or 7")]
    LineLength {
        /// The length that was given.
        length: String,
    },
    /// The name is no level rhyme group.
    #[error("unknown rhyme group `{name}`: use one of {known}")]
    UnknownRhyme {
        /// The name that was given.
        name: String,
        /// The heads of all groups.
        known: String,
    },
    /// The name is none of the four sequences.
    #[error("unknown sequence `{name}`: use one of ACBD, DCBD, BDAC, CDAC")]
    UnknownSequence {
        /// The name that was given.
        name: String,
    },
    /// Characters that are no Han characters are to stand in a line.
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
