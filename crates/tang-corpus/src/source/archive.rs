//! The published package as npm delivers it: a gzipped tar archive.

use std::{
    io::{self, Cursor, Read},
    path::{Component, Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use tang_files::{FileKind, read_stream_at_most};
use tar::{Archive, Entry};

use super::{
    inflated::{Inflated, Meter, Packed},
    poem_files::{FileNumber, PoemFiles, Texts},
};
use crate::{Collections, CorpusError, Progress, Step};

/// The most bytes between the contents of two files: headers, with long names and the like.
const MAX_HEADERS: u64 = 1 << 20;
/// Count of bytes by which the kind of the contents is recognised.
const SAMPLE: u64 = 4_096;

/// The texts of all poem files in the archive, whose one top folder may have any name. `path` is
/// its name in errors.
///
/// It is read to its last byte, so that the checksum and length of the compressed data are verified.
pub(crate) fn read_archive(
    path: &Path,
    bytes: &[u8],
    collections: Collections,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Texts, CorpusError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::FileTooLarge => CorpusError::io("read", path)(source),
        _ => CorpusError::Archive { path: path.to_owned(), source },
    };

    let meter = &Meter::default();
    let mut stream = MultiGzDecoder::new(Packed { rest: bytes, meter });
    let mut sample = Vec::new();
    let begun = stream.by_ref().take(SAMPLE).read_to_end(&mut sample);
    begun.map_err(failed)?;
    // A file of kind BINARY may be a damaged archive.
    if !matches!(FileKind::of(&sample), Some(FileKind::TAR | FileKind::BINARY)) {
        let fault = format!("is {}", FileKind::GZIP);
        return Err(CorpusError::unreadable(path, fault));
    }

    let mut files = PoemFiles::default();
    let stream = Cursor::new(sample).chain(stream);
    let mut archive = Archive::new(Inflated { stream, meter });
    meter.allowed.set(MAX_HEADERS);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let inner: PathBuf = entry.path().map_err(failed)?.into_owned();
        let size = size_in_archive(&entry).map_err(failed)?;
        meter.allowed.set(size);
        if let Some(number) = number_below_top(&inner, collections) {
            if !entry.header().entry_type().is_file() && !is_sparse(&entry) {
                let message = format!("{} in it is no plain file", inner.display());
                return Err(failed(io::Error::new(io::ErrorKind::InvalidData, message)));
            }
            let json = read_stream_at_most(files.room(), &mut entry)
                .map_err(CorpusError::io("read", &inner))?;
            files.add(number, &inner, &json)?;
        }
        // The next header, and the rest of this file before it.
        meter.allowed.set(MAX_HEADERS.saturating_add(size));
        on_progress(Progress {
            step: Step::Read,
            done: meter.packed.get(),
            total: Some(bytes.len() as u64),
        });
    }
    read_rest(archive.into_inner(), meter).map_err(failed)?;
    files.in_order(collections, path)
}

/// The number of a poem file, by its path in the archive.
fn number_below_top(path: &Path, collections: Collections) -> Option<FileNumber> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    FileNumber::in_package(&parts.skip(1).collect::<PathBuf>(), collections)
}

fn is_sparse(entry: &Entry<impl Read>) -> bool {
    entry.header().entry_type().is_gnu_sparse()
}

/// Bytes of a file in the archive, without the holes of a sparse one.
fn size_in_archive(entry: &Entry<impl Read>) -> io::Result<u64> {
    if is_sparse(entry) { entry.header().entry_size() } else { Ok(entry.size()) }
}

/// Reads the bytes after the last entry, which are nothing but zeros.
fn read_rest(mut rest: Inflated<impl Read>, meter: &Meter) -> io::Result<()> {
    let damaged = |message| Err(io::Error::new(io::ErrorKind::InvalidData, message));
    if meter.has_ended.get() {
        return damaged("it ends without the zeros that end an archive");
    }
    meter.allowed.set(u64::MAX);
    let mut buffer = [0; 8_192];
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(()),
            read if buffer[..read].iter().any(|byte| *byte != 0) => {
                return damaged("other data follows the end of the archive");
            }
            _ => {}
        }
    }
}
