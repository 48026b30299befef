//! Errors of model folders.

use std::path::{Path, PathBuf};

use tang_files::escape_value;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The configuration describes no possible model.
    #[error("impossible model: {reason}")]
    Config {
        /// What is wrong, with the numbers.
        reason: String,
    },
    /// The configuration describes a model that this program does not compute.
    #[error(
        "this program does not compute this model: {reason}; run it with Hugging Face transformers"
    )]
    Unsupported {
        /// What it would have to compute.
        reason: String,
    },
    /// A tensor that the configuration asks for is not in the file.
    #[error(
        "tensor `{}` is missing: the weights belong to another model than config.json describes",
        escape_value(name)
    )]
    MissingTensor {
        /// The name of the tensor.
        name: String,
    },
    /// A tensor of the file has no place in the model.
    #[error(
        "tensor `{}` has no place in the model: the weights belong to another model than config.json describes",
        escape_value(name)
    )]
    ExtraTensor {
        /// The name of the tensor.
        name: String,
    },
    /// Two names stand for one tensor, and their numbers differ.
    #[error(
        "tensors `{}` and `{}` are one part of the model with different numbers: leave only the right one in the file",
        escape_value(first),
        escape_value(second)
    )]
    Contradiction {
        /// One name.
        first: String,
        /// The other.
        second: String,
    },
    /// A tensor has another shape than the configuration says.
    #[error(
        "tensor `{}` has shape {got:?}, but config.json asks for {wanted:?}",
        escape_value(name)
    )]
    Shape {
        /// The name of the tensor.
        name: String,
        /// The shape that the configuration asks for.
        wanted: Vec<usize>,
        /// The shape in the file.
        got: Vec<usize>,
    },
    /// A tensor is stored as something else than floats of 16 or 32 bits.
    #[error(
        "tensor `{}` is stored as {dtype}; only F32, F16 and BF16 are read: convert the file",
        escape_value(name)
    )]
    Dtype {
        /// The name of the tensor.
        name: String,
        /// The type in the file.
        dtype: String,
    },
    /// A weight is infinite or no number.
    #[error(
        "tensor `{}` holds infinite numbers or none: fetch or train the model again",
        escape_value(name)
    )]
    NotFinite {
        /// The name of the tensor.
        name: String,
    },
    /// A file is damaged or of another kind.
    #[error("{path}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The folder holds weights that another program wrote.
    #[error(
        "{path} holds its weights in `{}`, which is not read: load the model in Python with Hugging Face transformers, and write it with `model.save_pretrained(folder, safe_serialization=True)`",
        escape_value(found)
    )]
    OtherFormat {
        /// The folder.
        path: PathBuf,
        /// The file with the weights.
        found: String,
    },
    /// The folder holds no model.
    #[error(
        "{path} holds no model ({missing} is missing): train one with `tang train`, or name another folder with --checkpoint"
    )]
    NoModel {
        /// The folder.
        path: PathBuf,
        /// The file that was looked for.
        missing: String,
    },
    /// The operating system refused.
    #[error("cannot read or write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl ModelError {
    /// An [`Io`](Self::Io) error at `path`, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}
