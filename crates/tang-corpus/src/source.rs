//! Where poems are read from, if they are not fetched.

use std::path::Path;

use tang_files::{FileKind, read_at_most};

use crate::{CorpusError, Page, Progress, archive::read_archive, poem_files::read_folder};

/// The most bytes of a file: three times those of the package.
const MAX_BYTES: u64 = 256 << 20;

/// A source of poems.
pub(crate) enum Source {
    /// The texts of a collection, each a poem's, in the numeric order of its files.
    Collection(Vec<String>),
    /// A text file.
    Page(Page),
}

/// The texts of all poems at `path`, as they are written there: not converted, of any form.
///
/// A folder is the npm package `chinese-poetry` unpacked, or a clone of the repository of that
/// name. A file is the package or a like archive if its first two bytes say so, whatever its name,
/// or else UTF-8 text, read as a [`Page`]. It is read once only, so that it may be a pipe.
///
/// # Errors
///
/// [`CorpusError::Io`], [`CorpusError::Archive`], [`CorpusError::Json`],
/// [`CorpusError::NoPoemFiles`], [`CorpusError::Kind`], [`CorpusError::NotUtf8`] or
/// [`CorpusError::BrokenUtf8`], each with the file.
pub(crate) fn read_source(
    path: &Path,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Source, CorpusError> {
    if path.is_dir() {
        return read_folder(path, on_progress).map(Source::Collection);
    }
    let bytes = read_at_most(MAX_BYTES, path).map_err(CorpusError::io("read", path))?;
    if FileKind::of(&bytes) == Some(FileKind::GZIP) {
        read_archive(path, &bytes, on_progress).map(Source::Collection)
    } else {
        Page::of_file(path, &bytes).map(Source::Page)
    }
}
