//! What can go wrong while training.

use std::path::{Path, PathBuf};

use tang_checkpoint::ModelError;
use tang_engine::EngineError;
use tang_tokenizer::TokenizerError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The configuration describes no possible run.
    #[error("impossible training run: {reason}")]
    Config {
        /// What is wrong, with the numbers.
        reason: String,
    },
    /// The loss, or a gradient, is no number any more.
    #[error(
        "step {step} has the loss {loss} and gradients of norm {gradient_norm}: training stops, and the checkpoints of earlier steps stay; start a new run with another --seed"
    )]
    Diverged {
        /// The step.
        step: usize,
        /// Its loss.
        loss: f64,
        /// Norm of its gradients.
        gradient_norm: f32,
    },
    /// The validation loss is no number any more.
    #[error(
        "the validation loss after step {step} is {loss}: training stops, and the checkpoints of earlier steps stay; start a new run with another --seed"
    )]
    Useless {
        /// The step.
        step: usize,
        /// The loss.
        loss: f64,
    },
    /// A poem does not fit into the model.
    #[error(
        "{poem} needs {positions} positions, one for the newline before it and one a character, and the model has {context}: give it a longer --context"
    )]
    PoemTooLong {
        /// The poem.
        poem: String,
        /// Positions that it needs.
        positions: usize,
        /// Positions that the model has.
        context: usize,
    },
    /// There is nothing to train on.
    #[error("there is no poem to train on: use a larger corpus")]
    NoPoem,
    /// The folder holds a run already.
    #[error(
        "{path} holds a training run already: go on with --resume, or name another folder with --out"
    )]
    RunExists {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds files of which no run is known to have written them.
    #[error(
        "{path} holds {file}, and no training run to go on with: a run begins in a new or empty folder, so that it replaces nobody's files; name another one"
    )]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// The first file in it.
        file: String,
    },
    /// There is no run to resume.
    #[error("{path} holds no training run to resume: start one without --resume")]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// Another process trains into the folder.
    #[error(
        "another training is writing to {path}: wait for it, or name another folder with --out"
    )]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The run was started on other poems.
    #[error(
        "the run was started on another corpus (SHA-256 {wanted}, this one has {got}): name that corpus with --corpus, or start a new run"
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
        /// What is wrong.
        reason: String,
    },
    /// The operating system gives no threads.
    #[error(
        "cannot start threads to train with ({reason}): raise the limit of processes (`ulimit -u`), or ask for fewer threads with RAYON_NUM_THREADS=1"
    )]
    Threads {
        /// Why.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot read or write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The model refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Inference failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The vocabulary refused.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

impl TrainError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn damaged_state(path: &Path, reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::damaged(
            path,
            format!("not a readable training state ({reason}): start a new run"),
        )
    }

    pub(crate) fn threads(error: impl ToString) -> Self {
        Self::Threads {
            reason: error.to_string(),
        }
    }

    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}
