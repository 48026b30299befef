//! The published package as npm delivers it: a gzipped tar archive.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::{Component, Path, PathBuf},
};

use flate2::read::GzDecoder;

use crate::{CorpusError, Progress, Step, poem_files};

/// The texts of all poem files in the archive, whose one top folder may have any name.
pub(crate) fn read_archive(
    path: &Path,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Vec<String>, CorpusError> {
    let file = File::open(path).map_err(CorpusError::io("read", path))?;
    let total = file
        .metadata()
        .map_err(CorpusError::io("read", path))?
        .len();
    let damaged = |source: io::Error| CorpusError::Archive {
        path: path.to_owned(),
        source,
    };

    let mut files = Vec::new();
    let mut archive = tar::Archive::new(GzDecoder::new(&file));
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
            done: (&file).stream_position().map_err(damaged)?,
            total: Some(total),
        });
    }
    poem_files::in_order(path, files)
}
