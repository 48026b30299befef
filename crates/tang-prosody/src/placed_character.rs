//! A character of a text, for messages about it.

use std::fmt;

/// A character and its place in the text that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedCharacter {
    /// The character.
    pub character: char,
    /// Its place, counted from 1.
    pub position: usize,
}

impl PlacedCharacter {
    /// Those characters of a text for which `is_wanted` holds.
    pub fn all_in(text: &str, is_wanted: impl Fn(char) -> bool) -> Vec<Self> {
        (1..)
            .zip(text.chars())
            .filter(|(_, character)| is_wanted(*character))
            .map(|(position, character)| Self { character, position })
            .collect()
    }

    /// The list of characters, as the subject of a sentence.
    pub fn list(characters: &[Self]) -> String {
        let listed: Vec<String> = characters.iter().map(ToString::to_string).collect();
        listed.join(", and ")
    }
}

impl fmt::Display for PlacedCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { character, position } = self;
        let code_point = u32::from(*character);
        write!(f, "character {position} of the text, `{character}` (U+{code_point:04X})")
    }
}
