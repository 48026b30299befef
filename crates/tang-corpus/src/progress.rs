//! Progress of a long function.

/// A stage of building a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// npm downloads the package, of unknown size.
    Fetch,
    /// The source is read, in bytes.
    Read,
    /// Poems are converted and cleaned, in poems.
    Clean,
}

/// Progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub step: Step,
    /// The amount done so far, in the unit of the step.
    pub done: u64,
    /// The total amount, if it is known.
    pub total: Option<u64>,
}
