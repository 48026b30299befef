//! Where a text stops being verse.

use std::fmt;

use serde::{Serialize, Serializer};

/// The first place of a text that no poem of strict form has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The line of the page, counted from 1.
    pub line: usize,
    /// The character of that line, counted from 1, spaces and marks included.
    pub character: usize,
    /// The text there.
    pub text: String,
    /// The fault, and what to do.
    pub reason: UnreadReason,
}

/// A fault of a text at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadReason {
    /// A character that no poem has.
    Stray(char),
    /// A line of another length.
    Length {
        /// Its characters.
        got: usize,
        /// Those of the other lines, if these have 5 or 7.
        wanted: Option<usize>,
    },
    /// Another number of lines; the place is that of the last one.
    Lines {
        /// The number.
        got: usize,
        /// The characters of each.
        length: usize,
    },
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            character,
            text,
            reason,
        } = self;
        let text = tang_files::escape_value(text);
        write!(f, "line {line}, character {character}: `{text}` {reason}")
    }
}

impl fmt::Display for UnreadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stray(c) => write!(
                f,
                "(U+{:04X}) is neither a Han character nor a mark: put the right one, or delete it",
                u32::from(*c)
            ),
            Self::Length {
                got,
                wanted: Some(wanted),
            } => write!(
                f,
                "has length {got}, and the lines around it {wanted}: complete it, or delete it"
            ),
            Self::Length { got, wanted: None } => write!(
                f,
                "has length {got}, and a line of verse 5 or 7: complete it, or delete it"
            ),
            Self::Lines { got, length } => write!(
                f,
                "ends a text of {got} lines of {length}, and a poem has 4 or 8: complete it, or leave a line \
                 empty between two poems"
            ),
        }
    }
}

impl Serialize for UnreadReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
