//! The four kinds of lines.

use std::fmt;

use serde::Serialize;

use crate::{LineLength, Tone};

/// A kind of line, by 王力《诗词格律》. For five characters; a line of seven puts two of the opposite tone before
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum LineType {
    /// 仄仄平平仄.
    A,
    /// 平平平仄仄, or the special 平平仄平仄.
    B,
    /// 平平仄仄平.
    C,
    /// 仄仄仄平平.
    D,
}

impl LineType {
    /// The four types.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];

    /// The tone of the last character. A line that ends level rhymes.
    pub const fn end(self) -> Tone {
        match self {
            Self::A | Self::B => Tone::Oblique,
            Self::C | Self::D => Tone::Level,
        }
    }

    /// The tone of the second character, by which a poem is called 平起 or 仄起.
    pub const fn start(self, length: LineLength) -> Tone {
        let of_five = match self {
            Self::A | Self::D => Tone::Oblique,
            Self::B | Self::C => Tone::Level,
        };
        match length {
            LineLength::Five => of_five,
            LineLength::Seven => of_five.opposite(),
        }
    }
}

impl fmt::Display for LineType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
