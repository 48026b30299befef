//! The rules that a constraint stands for.

use std::fmt;

/// A rule that a poem keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Lines of Han characters, closed by their marks.
    Form,
    /// The tones of the line.
    Tones,
    /// The even lines rhyme.
    Rhyme,
    /// No character comes twice.
    NoRepeat,
    /// The given characters stand in their places.
    Given,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "the form",
            Self::Tones => "the tones",
            Self::Rhyme => "the rhyme",
            Self::NoRepeat => "the ban on repetition",
            Self::Given => "the given character",
        })
    }
}
