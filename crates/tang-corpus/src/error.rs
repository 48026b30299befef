//! What can go wrong between a source of poems and a split corpus.

use std::{
    io,
    path::{Path, PathBuf},
};

use tang_files::FileKind;

use crate::Unread;

/// The sources that need no npm, named in every error of the fetch.
const OTHER_SOURCES: &str = "or use `--from PATH`: the package's .tgz, its unpacked folder, a clone of the \
     chinese-poetry repository, or a UTF-8 text file with one poem a line";

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read`, `write`, `create`, `lock` or `run`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// There is no npm to fetch the package with.
    #[error("`{program}` was not found: install Node.js, which has it, {OTHER_SOURCES}")]
    NpmMissing {
        /// The program that was looked for.
        program: String,
    },
    /// npm ran and failed.
    #[error(
        "npm could not fetch {package} ({status}): check the network and try again, \
         {OTHER_SOURCES}; npm says: {}",
        stderr.lines().collect::<Vec<_>>().join("; ")
    )]
    NpmFailed {
        /// Name and version of the package.
        package: String,
        /// How npm ended.
        status: std::process::ExitStatus,
        /// What npm wrote to stderr.
        stderr: String,
    },
    /// npm ran too long, and was ended.
    #[error(
        "npm did not fetch {package} within {minutes} minutes: check the network and try again, \
         {OTHER_SOURCES}"
    )]
    NpmTimedOut {
        /// Name and version of the package.
        package: String,
        /// The time that it had.
        minutes: u64,
    },
    /// npm was stopped before its end.
    #[error("interrupted: npm was stopped, and nothing of it is left")]
    Interrupted,
    /// The package is not the one whose checksum is known.
    #[error(
        "{package} has the integrity {got}, wanted {wanted}: it was damaged or changed on the \
         way; try again, {OTHER_SOURCES}"
    )]
    Integrity {
        /// Name and version of the package.
        package: String,
        /// The published checksum.
        wanted: String,
        /// The checksum of what arrived.
        got: String,
    },
    /// An archive is damaged or no gzipped tar at all.
    #[error(
        "cannot read {} as a gzipped tar archive: {source}; it is damaged or cut short, fetch it again",
        path.display()
    )]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What its reader says.
        source: io::Error,
    },
    /// A file of poems is damaged.
    #[error(
        "{} is not a JSON array of poems with `paragraphs`: {source}; fetch it again",
        path.display()
    )]
    Json {
        /// The file; inside an archive, the path there.
        path: PathBuf,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// A folder or archive has no file of Tang poems.
    #[error(
        "{} has no file poet.tang.N.json, neither at its top nor in dist/quantangshi, 全唐诗 or \
         json: give the unpacked package or a clone of the chinese-poetry repository",
        path.display()
    )]
    NoPoemFiles {
        /// The folder or archive.
        path: PathBuf,
    },
    /// A file is no plain text.
    #[error("{} is {kind}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: FileKind,
    },
    /// A text file has another encoding.
    #[error(
        "{} is not UTF-8 (byte {offset} breaks it): convert it first, \
         for example `iconv -f GBK -t UTF-8 OLD > NEW`, or from BIG5",
        path.display()
    )]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first byte that is not UTF-8, counted from 1.
        offset: usize,
    },
    /// A text file in UTF-8 is damaged, or was cut inside of a character.
    #[error(
        "{} is UTF-8 but for byte {offset}: put the right character there, or leave out what is \
         broken, for example `iconv -c -f UTF-8 -t UTF-8 OLD > NEW`",
        path.display()
    )]
    BrokenUtf8 {
        /// The file.
        path: PathBuf,
        /// The first byte that is not UTF-8, counted from 1.
        offset: usize,
    },
    /// No poem of a strict form was found.
    #[error(
        "no regulated poem among the {read} texts of {}: wanted 4 or 8 lines of 5 or 7 Han \
         characters (U+4E00 to U+9FFF) each, closed by ， and 。 in turn, one poem a line or an empty line between two{}",
        path.display(),
        first.as_ref().map_or_else(String::new, |first| format!("; {first}"))
    )]
    NoPoems {
        /// Where they were read.
        path: PathBuf,
        /// The number of texts read.
        read: usize,
        /// Where the first text of a text file stops being a poem.
        first: Option<Unread>,
    },
    /// Too few poems to hold some back for validation.
    #[error("{got} poem cannot be split: wanted at least {wanted}, one of them for validation")]
    TooFewPoems {
        /// The number of poems.
        got: usize,
        /// The least that can be split.
        wanted: usize,
    },
    /// There is no corpus in this folder yet.
    #[error(
        "no corpus in {}: run `tang data` to build it, with --out for another folder than data, or give a \
         text file with one poem a line",
        path.display()
    )]
    NotBuilt {
        /// The folder.
        path: PathBuf,
    },
    /// A file of the corpus's name was not written by this program, or not as it is now.
    #[error(
        "{} is there already and was not written by `tang data`, or was changed since: move it \
         away, or name another folder with --out",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes a corpus to this folder.
    #[error("another process builds the corpus in {}: wait until it has ended", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// A file of the corpus is not the one that was written with the others.
    #[error(
        "{} is missing or changed since the corpus was built: move it away if it is there, and build \
         the corpus again with `tang data --from PATH`; or move SHA256SUMS, tang.txt, train.txt \
         and val.txt away, and `tang data` fetches the published collection",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl CorpusError {
    /// Wraps the system's answer with what was tried: for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
