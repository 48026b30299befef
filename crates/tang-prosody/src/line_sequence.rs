//! The orders in which the four kinds of lines make a poem.

use std::{fmt, str::FromStr};

use serde::Serialize;

use crate::{Form, LineLength, LineType, ProsodyError, Tone};

/// The types of the lines of a poem, named by the first four (王力《诗词格律》).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LineSequence {
    /// A C B D, and so on.
    Acbd,
    /// D C B D, then A C B D.
    Dcbd,
    /// B D A C, and so on.
    Bdac,
    /// C D A C, then B D A C.
    Cdac,
}

impl LineSequence {
    /// The four sequences.
    pub const ALL: [Self; 4] = [Self::Acbd, Self::Dcbd, Self::Bdac, Self::Cdac];

    /// The type of line `line`, counted from 0. Every line has a type: from the fifth line on, Dcbd
    /// continues as Acbd and Cdac as Bdac, whose first lines do not rhyme.
    pub const fn line_type(self, line: usize) -> LineType {
        use LineType::{A, B, C, D};
        match (self, line) {
            (Self::Dcbd, 0) => D,
            (Self::Cdac, 0) => C,
            (Self::Acbd | Self::Dcbd, _) => [A, C, B, D][line % 4],
            (Self::Bdac | Self::Cdac, _) => [B, D, A, C][line % 4],
        }
    }

    /// Whether the first line rhymes.
    pub fn first_line_rhymes(self) -> bool {
        self.line_type(0).end() == Tone::Level
    }

    /// The name: the tone of the poem's second character, and whether the first line rhymes.
    pub fn name(self, length: LineLength) -> &'static str {
        match (self.line_type(0).start(length), self.first_line_rhymes()) {
            (Tone::Level, true) => "平起首句入韵",
            (Tone::Level, false) => "平起首句不入韵",
            (Tone::Oblique, true) => "仄起首句入韵",
            (Tone::Oblique, false) => "仄起首句不入韵",
        }
    }

    /// The share of this sequence among those poems of the corpus whose rhyme and tones are right,
    /// between 0 and 1.
    pub const fn prior(self, form: Form) -> f64 {
        let shares = match form {
            Form::WuJue => [0.638, 0.102, 0.227, 0.034],
            Form::QiJue => [0.111, 0.354, 0.083, 0.451],
            Form::WuLv => [0.465, 0.154, 0.307, 0.075],
            Form::QiLv => [0.087, 0.452, 0.059, 0.402],
        };
        shares[self as usize]
    }

    const fn letters(self) -> &'static str {
        ["ACBD", "DCBD", "BDAC", "CDAC"][self as usize]
    }
}

impl fmt::Display for LineSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.letters())
    }
}

impl FromStr for LineSequence {
    type Err = ProsodyError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut sequences = Self::ALL.into_iter();
        let found = sequences.find(|sequence| sequence.letters().eq_ignore_ascii_case(name));
        found.ok_or_else(|| ProsodyError::Unknown {
            kind: "sequence",
            name: name.to_owned(),
            known: Self::ALL.map(Self::letters).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_lines_go_on_without_a_rhyme_in_the_fifth() {
        for (sequence, wanted) in [
            (LineSequence::Acbd, "ACBDACBD"),
            (LineSequence::Dcbd, "DCBDACBD"),
            (LineSequence::Bdac, "BDACBDAC"),
            (LineSequence::Cdac, "CDACBDAC"),
        ] {
            let types: String = (0..8).map(|i| sequence.line_type(i).to_string()).collect();
            assert_eq!(types, wanted);
            assert_eq!(wanted[..4].parse(), Ok(sequence));
            assert_eq!(wanted[..4].to_lowercase().parse(), Ok(sequence));
            assert_eq!(sequence.to_string(), wanted[..4]);
        }
        let message = "ABCD".parse::<LineSequence>().unwrap_err().to_string();
        assert!(message.contains("`ABCD`") && message.contains("CDAC"));
    }

    #[test]
    fn a_name_depends_on_the_length_of_the_lines() {
        let names = |length| LineSequence::ALL.map(|sequence| sequence.name(length));
        assert_eq!(
            names(LineLength::Five),
            ["仄起首句不入韵", "仄起首句入韵", "平起首句不入韵", "平起首句入韵"]
        );
        assert_eq!(
            names(LineLength::Seven),
            ["平起首句不入韵", "平起首句入韵", "仄起首句不入韵", "仄起首句入韵"]
        );
    }

    #[test]
    fn priors_are_shares() {
        for form in Form::ALL {
            let sum: f64 = LineSequence::ALL.map(|s| s.prior(form)).iter().sum();
            assert!((sum - 1.0).abs() < 0.002, "{form}: {sum}");
        }
    }
}
