//! A fixed character that cannot keep a rule.

use std::fmt;

/// The rule that a fixed character cannot keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The even lines rhyme.
    Rhyme,
    /// The tones of the line.
    Tones,
}

/// A fixed character for which a rule would have to be relaxed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exemption {
    /// The line, counted from 0.
    pub line: usize,
    /// The place in the line, counted from 0.
    pub column: usize,
    /// The character.
    pub character: char,
    /// The rule that it cannot keep.
    pub rule: Rule,
}

impl fmt::Display for Exemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self.rule {
            Rule::Rhyme => "the rhyme",
            Rule::Tones => "the tones",
        };
        write!(
            f,
            "line {}, character {}, `{}`, does not keep {rule}",
            self.line + 1,
            self.column + 1,
            self.character
        )
    }
}
