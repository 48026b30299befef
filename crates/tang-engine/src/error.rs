//! Errors of inference.

use tang_checkpoint::ModelError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// More positions were asked for than a row of the cache has.
    #[error(
        "the context is full: {held} positions are cached and {added} more do not fit into {capacity}; generate fewer characters or train a model with a longer context"
    )]
    ContextFull {
        /// Positions that are already cached.
        held: usize,
        /// Positions to be added.
        added: usize,
        /// Positions that there are.
        capacity: usize,
    },
    /// The machine has no memory for keys and values.
    #[error(
        "keys and values of {rows} texts of {tokens} characters take {bytes} bytes more than are held now, beside what computes with them, and {}: write fewer at once (poems or beams), or shorter ones",
        available.map_or("the system does not give them".to_owned(), |bytes| format!("{bytes} bytes of memory are available"))
    )]
    CacheTooLarge {
        /// Texts at once.
        rows: usize,
        /// Tokens of each.
        tokens: usize,
        /// Bytes that are wanted, beside those that the cache has.
        bytes: u64,
        /// Bytes that there are, if the system says so.
        available: Option<u64>,
    },
    /// A text is longer than the model.
    #[error(
        "the text takes {length} positions, the newline before it included, and the model has {context}: shorten it, or train a model with a longer context"
    )]
    TextTooLong {
        /// Positions that the text takes.
        length: usize,
        /// Positions that the model has.
        context: usize,
    },
    /// The weights are so large that the network overflows.
    #[error(
        "the model gives infinite logits or NaN: its weights are damaged; fetch or train it again"
    )]
    Overflow,
    /// The weights are not those of the configuration.
    #[error(transparent)]
    Model(#[from] ModelError),
}
