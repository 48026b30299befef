//! The published package as npm delivers it: a gzipped tar archive.

use std::{
    cell::Cell,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use flate2::read::GzDecoder;

use crate::{CorpusError, Progress, Step, poem_files};

/// The texts of all poem files in the archive, whose one top folder may have any name. `path` is
/// what errors call it.
pub(crate) fn read_archive(
    path: &Path,
    bytes: &[u8],
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Vec<String>, CorpusError> {
    let damaged = |source: io::Error| CorpusError::Archive {
        path: path.to_owned(),
        source,
    };

    let mut files = Vec::new();
    let done = Cell::new(0);
    let counted = Counted {
        rest: bytes,
        done: &done,
    };
    let mut archive = tar::Archive::new(GzDecoder::new(counted));
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let inner: PathBuf = entry.path().map_err(damaged)?.into_owned();
        let below_top: PathBuf = inner
            .components()
            .filter(|part| *part != Component::CurDir)
            .skip(1)
            .collect();
        if let Some(number) = poem_files::number_in_collection(&below_top) {
            let mut json = Vec::new();
            entry.read_to_end(&mut json).map_err(damaged)?;
            files.push((number, poem_files::parse(&inner, &json)?));
        }
        on_progress(Progress {
            step: Step::Read,
            done: done.get(),
            total: Some(bytes.len() as u64),
        });
    }
    poem_files::in_order(path, files)
}

/// Bytes to read, and how many of them were, seen from outside the readers around it.
struct Counted<'a> {
    rest: &'a [u8],
    done: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        self.done.set(self.done.get() + read as u64);
        Ok(read)
    }
}
