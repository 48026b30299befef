//! Errors of model folders.

use std::path::{Path, PathBuf};

use tang_files::escape_value;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The configuration describes no possible model.
    #[error("impossible model: {reason}")]
    Config {
        /// The contradiction, with its numbers.
        reason: String,
    },
    /// The configuration describes a model that is not computed here.
    #[error(
        "this program does not compute this model: {reason}; run it with Hugging Face transformers"
    )]
    Unsupported {
        /// The part that is not computed.
        reason: String,
    },
    /// A tensor is missing, is left over, or does not fit the configuration.
    #[error("tensor `{}` {fault}", escape_value(name))]
    Tensor {
        /// The name of the tensor.
        name: String,
        /// Its fault, and what to do.
        fault: String,
    },
    /// A file is damaged or of another kind.
    #[error("{path}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault, and what to do.
        reason: String,
    },
    /// A folder has no model.
    #[error("{path} holds no model ({missing} is missing): train one, or name another folder")]
    NoModel {
        /// The folder.
        path: PathBuf,
        /// The file that was looked for.
        missing: String,
    },
    /// A file cannot be read or written.
    #[error("cannot read or write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

impl ModelError {
    /// An [`Io`](Self::Io) error at `path`, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }

    pub(crate) fn tensor(name: &str, fault: impl Into<String>) -> Self {
        Self::Tensor { name: name.to_owned(), fault: fault.into() }
    }

    /// A tensor that the configuration asks for is not in the file.
    pub(crate) fn missing(name: &str) -> Self {
        Self::tensor(name, format!("is missing: {OTHER_MODEL}"))
    }

    /// A tensor of the file has no place in the model.
    pub(crate) fn extra(name: &str) -> Self {
        Self::tensor(name, format!("has no place in the model: {OTHER_MODEL}"))
    }
}

const OTHER_MODEL: &str = "the weights belong to another model than config.json describes";
