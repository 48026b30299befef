//! What can go wrong while generating.

use tang_model::ModelError;
use tang_tokenizer::TokenizerError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A sampling setting has an impossible value.
    #[error("{name} is {value:?}: it must be {wanted}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// The value it was given.
        value: f32,
        /// What it may be.
        wanted: &'static str,
    },
    /// No token at all may come next.
    #[error(
        "nothing can stand at place {position} of the poem: the constraints contradict each other"
    )]
    NothingAllowed {
        /// The place in the poem, counted from 1.
        position: usize,
    },
    /// There is nothing to start from.
    #[error("the text is empty: give at least one character")]
    Empty,
    /// A character cannot begin a line.
    #[error("character {position}, `{character}`, cannot begin a line: use Han characters only")]
    NoHead {
        /// The character.
        character: char,
        /// Its place among the heads, counted from 1.
        position: usize,
    },
    /// The lines do not fit into the model's context.
    #[error(
        "{lines} lines have {characters} characters, but the model's context holds {context}: use fewer or shorter lines"
    )]
    TooLong {
        /// Lines asked for.
        lines: usize,
        /// Their characters, marks counted.
        characters: usize,
        /// Characters that the context holds behind the first newline.
        context: usize,
    },
    /// The model refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The vocabulary refused.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}
