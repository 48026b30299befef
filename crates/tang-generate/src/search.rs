//! How a poem is found.

use std::fmt;

/// How a poem is found among all that could be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// It is a sample.
    Sample,
    /// It is the likeliest of so many samples: [`best_of`](crate::best_of).
    BestOf(usize),
    /// It is the likeliest that so many beams find: [`beam_search`](crate::beam_search).
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
