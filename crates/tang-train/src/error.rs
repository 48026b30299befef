//! Errors of training.

use std::path::{Path, PathBuf};

use tang_checkpoint::ModelError;
use tang_engine::EngineError;
use tang_tokenizer::TokenizerError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The configuration describes no possible run.
    #[error("impossible training run: {0}")]
    Config(String),
    /// The loss, or a gradient, is no finite number.
    #[error(
        "step {step} has the loss {loss} and gradients of norm {gradient_norm}: training stops, and the checkpoints of earlier steps stay; start a new run with another seed"
    )]
    Diverged {
        /// The step.
        step: usize,
        /// Its loss.
        loss: f64,
        /// Norm of its gradients.
        gradient_norm: f32,
    },
    /// The validation loss is no finite number.
    #[error(
        "the validation loss after step {step} is {loss}: training stops, and the checkpoints of earlier steps stay; start a new run with another seed"
    )]
    ValidationNotFinite {
        /// The step.
        step: usize,
        /// The loss.
        loss: f64,
    },
    /// A poem does not fit into the model.
    #[error(
        "{poem} needs {positions} positions, one for the newline before it and one per character, and the model has {context}: give it a longer context"
    )]
    PoemTooLong {
        /// The poem.
        poem: String,
        /// Positions that it needs.
        positions: usize,
        /// Positions of the model.
        context: usize,
    },
    /// There is nothing to train on.
    #[error("there is no poem to train on: use a larger corpus")]
    NoPoem,
    /// The steps on Song poems have none.
    #[error("the corpus has no Song poems to train on")]
    NoSong,
    /// The folder has a run already.
    #[error("{0} holds a training run already: resume it, or name another folder")]
    RunExists(PathBuf),
    /// The folder has files that no run has written.
    #[error(
        "{path} holds {file}, and no training run to go on with: a run begins in a new or empty folder, so that it replaces nobody's files; name another one"
    )]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// The first file in it.
        file: String,
    },
    /// There is no run to resume in this folder.
    #[error("{0} holds no training run to resume: start one")]
    NoRun(PathBuf),
    /// Another process trains into this folder.
    #[error("another training is writing to {0}: wait for it, or name another folder")]
    Locked(PathBuf),
    /// The run was started on other poems.
    #[error(
        "the run was started on another corpus (SHA-256 {wanted}, this one has {got}): name that corpus, or start a new run"
    )]
    OtherCorpus {
        /// SHA-256 of the poems that the run was started on.
        wanted: String,
        /// SHA-256 of the poems given now.
        got: String,
    },
    /// A file is damaged or of another kind.
    #[error("{path}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
    /// The operating system gives no threads, for this reason.
    #[error(
        "cannot start threads to train with ({0}): raise the limit of processes (`ulimit -u`), or ask for fewer threads with RAYON_NUM_THREADS=1"
    )]
    Threads(String),
    /// A file cannot be read or written.
    #[error("cannot read or write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason, from the operating system.
        source: std::io::Error,
    },
    /// The model is impossible or damaged.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The evaluation failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The vocabulary does not fit a text, or cannot be written.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

impl TrainError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn threads(error: impl ToString) -> Self {
        Self::Threads(error.to_string())
    }

    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }

    pub(crate) fn damaged_state(path: &Path, reason: impl ToString) -> Self {
        let reason = reason.to_string();
        let reason = format!("not a readable training state ({reason}): start a new run");
        Self::damaged(path, reason)
    }
}
