//! Which network a figure was measured on.

use std::fmt;

use serde::Serialize;

/// The trained network, or one of the same geometry with random weights and another context: what
/// is computed, and so its time and its memory, does not depend on the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Whether the weights are random.
    pub random_weights: bool,
    /// Positions of the network.
    pub context: usize,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = match self.random_weights {
            true => "random weights",
            false => "trained",
        };
        write!(f, "{weights}, context {}", self.context)
    }
}
