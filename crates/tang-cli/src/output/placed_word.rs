//! A word in its place.

use serde::Serialize;
use tang_generate::{Sequence, WordPlace};

use crate::input::UserText;

/// A word of a poem that was asked for, in the place that the model chose.
pub struct PlacedWord<'a> {
    /// The word as it was typed.
    pub text: &'a UserText,
    /// Its place.
    pub place: WordPlace,
}

/// A word and its place, counted from 1, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct PlacedWordJson {
    /// The word as it was typed.
    word: String,
    /// The line.
    line: usize,
    /// Place of its first character in the line.
    character: usize,
}

impl<'a> PlacedWord<'a> {
    /// Those of `words` that the poem has reached.
    pub fn all_in(poem: &Sequence, words: &'a [UserText]) -> Vec<Self> {
        let places = words.iter().zip(poem.word_places());
        places.filter_map(|(text, place)| Some(Self { text, place: place? })).collect()
    }

    /// Count of characters of the poem up to its end, marks counted.
    pub fn end(&self) -> usize {
        self.place.position + self.text.len()
    }

    /// The word for `--json`.
    pub fn json(&self) -> PlacedWordJson {
        let WordPlace { line, column, .. } = self.place;
        PlacedWordJson { word: self.text.typed().collect(), line: line + 1, character: column + 1 }
    }
}
