//! A fixed character that cannot keep a rule.

use std::fmt;

use super::rules::Rule;

/// A fixed character that cannot keep a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exemption {
    /// The line, counted from 0.
    pub line: usize,
    /// The column, counted from 0.
    pub column: usize,
    /// The character.
    pub character: char,
    /// The rule.
    pub rule: Rule,
}

impl Exemption {
    /// The ways to keep a rule that need the fewest exemptions, and these exemptions. If any are
    /// needed, only the first such way is returned, since the exemptions belong to it.
    pub(super) fn fewest<T>(ways: impl Iterator<Item = (T, Vec<Self>)>) -> (Vec<T>, Vec<Self>) {
        let mut ways: Vec<_> = ways.collect();
        let fewest = ways.iter().map(|(_, exemptions)| exemptions.len()).min();
        ways.retain(|(_, exemptions)| Some(exemptions.len()) == fewest);
        if fewest > Some(0) {
            ways.truncate(1);
        }
        let (ways, exemptions): (_, Vec<_>) = ways.into_iter().unzip();
        (ways, exemptions.concat())
    }
}

impl fmt::Display for Exemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = (self.line + 1, self.column + 1);
        let Self { character, rule, .. } = self;
        write!(f, "line {line}, character {column}, `{character}`, does not keep {rule}")
    }
}
