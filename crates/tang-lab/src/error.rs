//! Errors of measurements.

use std::{io, path::PathBuf};

use tang_engine::EngineError;
use tang_generate::GenerateError;

/// An error of this crate. The messages carry the numbers.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Logits that should be the same differ by more than the device may round.
    #[error("{0}: the cache is wrong")]
    Logits(String),
    /// Tokens that should be the same differ, and no rounding of the logits explains it.
    #[error("{0}: the cache is wrong")]
    Tokens(String),
    /// Another number of tokens went through the model than the formula says.
    #[error("{0}: work is done twice or left out")]
    Count(String),
    /// Two texts that are timed together differ.
    #[error("{0}; no time is given")]
    TimedTexts(String),
    /// Another claim about the cache or the sampler does not hold.
    #[error("{0}")]
    Wrong(String),
    /// A given number, name, size or model allows no measurement.
    #[error("{0}")]
    Input(String),
    /// A picture cannot be drawn.
    #[error("cannot draw the plot: {0}")]
    Plot(String),
    /// A program that was to be measured does not run, fails, or prints something else.
    #[error("cannot measure a program: {0}")]
    Program(String),
    /// A file or folder cannot be read, written or created.
    #[error("cannot {action} {}", path.display())]
    File {
        /// The action that failed.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file exists already that this program has not written, or may not replace.
    #[error("{} is there already{advice}", path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
        /// The next step.
        advice: &'static str,
    },
    /// The system gives no threads.
    #[error("cannot start threads to measure with: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// Generation failed.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The model cannot compute the text.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Training failed.
    #[cfg(feature = "train")]
    #[error(transparent)]
    Train(#[from] tang_train::TrainError),
}

impl LabError {
    /// Makes the error of a failed action on a file.
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}
