//! A place of a poem where no character is left.

use std::fmt;

use super::rules::Rule;

/// A place of a poem where the rules leave no character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadEnd {
    /// The line, counted from 0.
    pub line: usize,
    /// The column, counted from 0.
    pub column: usize,
    /// The rule that forbids the last characters.
    pub rule: Rule,
    /// Count of characters that the rules before it leave.
    pub left: usize,
    /// Those rules, as far as they forbid anything there.
    pub others: Vec<Rule>,
}

impl fmt::Display for DeadEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = (self.line + 1, self.column + 1);
        let Self { rule, left, .. } = self;
        write!(
            f,
            "line {line}, character {column}: no character is left, as {rule} forbids the last {left}"
        )?;
        match &self.others[..] {
            [] => Ok(()),
            [other] => write!(f, " that {other} allows"),
            [others @ .., last] => {
                let others: Vec<String> = others.iter().map(ToString::to_string).collect();
                write!(f, " that {} and {last} allow", others.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_took_part_is_named() {
        let shown = |others: &[Rule]| {
            let dead_end = DeadEnd {
                line: 3,
                column: 4,
                rule: Rule::NoRepeat,
                left: 2,
                others: others.to_vec(),
            };
            dead_end.to_string()
        };
        let place = "line 4, character 5: no character is left, as the ban on repetition";
        for (others, wanted) in [
            (&[][..], ""),
            (&[Rule::Form], " that the form allows"),
            (
                &[Rule::Form, Rule::Tones, Rule::Rhyme],
                " that the form, the tones and the rhyme allow",
            ),
        ] {
            assert_eq!(shown(others), format!("{place} forbids the last 2{wanted}"));
        }
    }
}
