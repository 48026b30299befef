//! Where poems are read from, if they are not fetched.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::{
    CorpusError, Progress, archive::read_archive, poem_files::read_folder,
    text_file::read_text_file,
};

/// A source of poems on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The npm package `chinese-poetry` as a `.tgz`, or any gzipped tar archive laid out like it or
    /// like the repository of the same name.
    Archive(PathBuf),
    /// That package unpacked, or a clone of the repository.
    Folder(PathBuf),
    /// A UTF-8 text file with one poem a line.
    TextFile(PathBuf),
}

impl Source {
    /// The source at `path`: a folder, an archive (told by its first two bytes, not by its name),
    /// or else a text file.
    ///
    /// # Errors
    /// [`CorpusError::Io`] if there is nothing at `path` or it cannot be read.
    pub fn detect(path: &Path) -> Result<Self, CorpusError> {
        const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

        let metadata = fs::metadata(path).map_err(CorpusError::io("read", path))?;
        if metadata.is_dir() {
            return Ok(Self::Folder(path.to_owned()));
        }
        let mut start = [0; GZIP_MAGIC.len()];
        match File::open(path).and_then(|mut file| file.read_exact(&mut start)) {
            Ok(()) if start == GZIP_MAGIC => Ok(Self::Archive(path.to_owned())),
            Ok(()) => Ok(Self::TextFile(path.to_owned())),
            // Shorter than that: no archive.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Ok(Self::TextFile(path.to_owned()))
            }
            Err(error) => Err(CorpusError::io("read", path)(error)),
        }
    }

    /// The texts of all poems, as they are written there: not converted, of any form. From a
    /// collection they come in the numeric order of its files.
    ///
    /// # Errors
    /// [`CorpusError::Io`], [`CorpusError::Archive`], [`CorpusError::Json`],
    /// [`CorpusError::NoPoemFiles`] or [`CorpusError::NotUtf8`], each with the file.
    pub fn read(&self, on_progress: &mut dyn FnMut(Progress)) -> Result<Vec<String>, CorpusError> {
        match self {
            Self::Archive(path) => read_archive(path, on_progress),
            Self::Folder(path) => read_folder(path, on_progress),
            Self::TextFile(path) => read_text_file(path),
        }
    }
}
