//! How far a long function has come, for whoever draws a bar.

/// A stage of building a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// npm downloads the package; how much of it is not known.
    Fetch,
    /// The source is read, in bytes.
    Read,
    /// Poems are converted and cleaned, in poems.
    Clean,
}

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub step: Step,
    /// How much of it is done, in the unit of the step.
    pub done: u64,
    /// How much there is to do, if that is known.
    pub total: Option<u64>,
}
