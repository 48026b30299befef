//! Errors between a source of poems and a split corpus.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::Unread;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read`, `write`, `remove`, `create`, `lock` or `run`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The published package could not be fetched, or arrived damaged.
    #[error(
        "{0}, or read another source: the package's .tgz, its unpacked folder, a clone of the \
         chinese-poetry repository, or a UTF-8 text file with one poem per line"
    )]
    Fetch(String),
    /// npm was stopped before its end.
    #[error("interrupted: npm was stopped, and nothing of it is left")]
    Interrupted,
    /// An archive is damaged or no gzipped tar at all.
    #[error(
        "cannot read {} as a gzipped tar archive: {source}; it is damaged or cut short, fetch it again",
        path.display()
    )]
    Archive {
        /// The archive.
        path: PathBuf,
        /// The error of the archive reader.
        source: io::Error,
    },
    /// A file or folder is no source of poems, or a damaged one.
    #[error("{} {fault}", path.display())]
    Unreadable {
        /// The file or folder; inside an archive, the path there.
        path: PathBuf,
        /// Its fault, and what to do.
        fault: String,
    },
    /// No poem of a strict form was found.
    #[error(
        "no regulated poem among the {read} texts of {}: wanted 4 or 8 lines of 5 or 7 Han \
         characters (U+4E00 to U+9FFF) each, closed by ， and 。 in turn, one poem per line or an empty \
         line between two{}",
        path.display(),
        first.as_ref().map_or_else(String::new, |first| format!("; {first}"))
    )]
    NoPoems {
        /// Their source.
        path: PathBuf,
        /// Count of texts that were read.
        read: usize,
        /// The place where the first text of a text file stops being a poem.
        first: Option<Unread>,
    },
    /// There are too few poems for a validation set.
    #[error("{got} poem cannot be split: wanted at least {wanted}, one of them for validation")]
    TooFewPoems {
        /// Count of poems.
        got: usize,
        /// The least count of poems that can be split.
        wanted: usize,
    },
    /// There is no corpus in this folder yet.
    #[error("no corpus in {}: build it, or give a text file with one poem per line", .0.display())]
    NotBuilt(PathBuf),
    /// A file with a name of the corpus was not written with a corpus, or is not as it was written.
    #[error(
        "{} is there already and was not written with a corpus, or was changed since: move it \
         away, or choose another folder",
        .0.display()
    )]
    Foreign(PathBuf),
    /// Another process writes a corpus to this folder.
    #[error("another process builds the corpus in {}: wait until it has ended", .0.display())]
    Locked(PathBuf),
    /// A file of the corpus is not the one that was written with the others.
    #[error(
        "{} is missing or changed since the corpus was built: move it away if it is there, and build \
         the corpus again from its source; or move SHA256SUMS, tang.txt, train.txt and val.txt away, and \
         fetch the published collection",
        .0.display()
    )]
    Changed(PathBuf),
}

impl CorpusError {
    /// Adds action and path to an error of the system, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn unreadable(path: &Path, fault: impl Into<String>) -> Self {
        Self::Unreadable { path: path.to_owned(), fault: fault.into() }
    }
}
