//! The ways to search for a poem.

pub(crate) mod beam_search;
pub(crate) mod best_of;
pub(crate) mod next_tokens;

use std::fmt;

/// The way to search for a poem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// A sample.
    Sample,
    /// The likeliest of this many samples: [`best_of`](crate::best_of).
    BestOf(usize),
    /// The likeliest that this many beams find: [`beam_search`](crate::beam_search).
    Beams(usize),
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sample => f.write_str("samples"),
            Self::BestOf(count) => write!(f, "the best of {count} samples"),
            Self::Beams(count) => write!(f, "beam search with {count} beams"),
        }
    }
}
