//! A fixed character that cannot keep a rule.

use std::fmt;

use crate::Rule;

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
        write!(
            f,
            "line {}, character {}, `{}`, does not keep {}",
            self.line + 1,
            self.column + 1,
            self.character,
            self.rule
        )
    }
}
