//! The files of Tang poems in the chinese-poetry collection: their places and their contents.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use tang_files::read_at_most;

use crate::{CorpusError, Progress, Step};

/// Folders of the files: in the package, in the repository, in older states of the repository.
const FOLDERS: [&str; 3] = ["dist/quantangshi", "全唐诗", "json"];

/// The most bytes of one file; those of the collection have 1 MB.
const MAX_FILE: u64 = 16 << 20;
/// The most bytes of all files together; those of the collection have 65 MB.
const MAX_FILES: u64 = 256 << 20;
/// The most files in a folder; the collection has 58.
const MAX_COUNT: usize = 10_000;

/// One poem of a file; its title and author are not used.
#[derive(Deserialize)]
struct Entry {
    paragraphs: Vec<String>,
}

/// The number N of a file `poet.tang.N.json` in one of the known folders; `path` is relative to
/// the top of the collection.
pub(crate) fn number_in_collection(path: &Path) -> Option<u32> {
    let folder = path.parent()?;
    number(path).filter(|_| FOLDERS.iter().any(|known| folder == Path::new(known)))
}

/// The number N of a file `poet.tang.N.json`.
fn number(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let number = name.strip_prefix("poet.tang.")?.strip_suffix(".json")?;
    number.parse().ok()
}

/// The texts of one file, each a poem's paragraphs joined.
fn parse(path: &Path, json: &[u8]) -> Result<Vec<String>, CorpusError> {
    let entries: Vec<Entry> = serde_json::from_slice(json).map_err(|error| {
        let fault =
            format!("is not a JSON array of poems with `paragraphs`: {error}; fetch it again");
        CorpusError::unreadable(path, fault)
    })?;
    let texts = entries.into_iter().map(|entry| entry.paragraphs.concat());
    Ok(texts.collect())
}

/// Files of poems as they are read, in any order.
#[derive(Debug, Default)]
pub(crate) struct PoemFiles {
    texts: Vec<(u32, Vec<String>)>,
    bytes: u64,
}

impl PoemFiles {
    /// The most bytes that the next file may have.
    pub(crate) fn room(&self) -> u64 {
        MAX_FILE.min(MAX_FILES.saturating_sub(self.bytes))
    }

    /// Adds the texts of the file with number N.
    pub(crate) fn add(&mut self, number: u32, path: &Path, json: &[u8]) -> Result<(), CorpusError> {
        self.texts.push((number, parse(path, json)?));
        self.bytes += json.len() as u64;
        Ok(())
    }

    /// The texts of all files in numeric order of N.
    pub(crate) fn in_order(mut self, origin: &Path) -> Result<Vec<String>, CorpusError> {
        if self.texts.is_empty() {
            let fault = "has no file poet.tang.N.json, neither at its top nor in dist/quantangshi, 全唐诗 or \
                         json: give the unpacked package or a clone of the chinese-poetry repository";
            return Err(CorpusError::unreadable(origin, fault));
        }
        self.texts.sort_by_key(|&(number, _)| number);
        Ok(self.texts.into_iter().flat_map(|(_, texts)| texts).collect())
    }
}

/// The texts of an unpacked package, a clone of the repository, or a folder with the files at its
/// top.
pub(crate) fn read_folder(
    folder: &Path,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Vec<String>, CorpusError> {
    let mut paths = files_in(folder)?;
    for known in FOLDERS.map(|known| folder.join(known)) {
        if paths.is_empty() && known.is_dir() {
            paths = files_in(&known)?;
        }
    }
    let total = paths.iter().map(|(_, _, bytes)| bytes).sum();
    let mut done = 0;
    let mut files = PoemFiles::default();
    for (number, path, bytes) in paths {
        let json = read_at_most(files.room(), &path).map_err(CorpusError::io("read", &path))?;
        files.add(number, &path, &json)?;
        done += bytes;
        on_progress(Progress { step: Step::Read, done, total: Some(total) });
    }
    files.in_order(folder)
}

/// Number, path and bytes of each poem file directly in `folder`.
fn files_in(folder: &Path) -> Result<Vec<(u32, PathBuf, u64)>, CorpusError> {
    let failed = || CorpusError::io("read", folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let path = entry.path();
        if let Some(number) = number(&path) {
            let metadata = entry.metadata().map_err(CorpusError::io("read", &path))?;
            files.push((number, path, metadata.len()));
        }
        if files.len() > MAX_COUNT {
            let message = format!("it has more than {MAX_COUNT} files poet.tang.N.json");
            return Err(failed()(io::Error::new(io::ErrorKind::FileTooLarge, message)));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_only_the_files_of_tang_poems() {
        for (path, wanted) in [
            ("dist/quantangshi/poet.tang.57000.json", Some(57_000)),
            ("全唐诗/poet.tang.0.json", Some(0)),
            ("json/poet.tang.1000.json", Some(1000)),
            ("dist/quantangshi/error/poet.tang.0.json", None),
            ("dist/quantangshi/poet.song.0.json", None),
            ("dist/quantangshi/authors.tang.json", None),
            ("poet.tang.0.json", None),
        ] {
            assert_eq!(number_in_collection(Path::new(path)), wanted, "{path}");
        }
    }

    #[test]
    fn paragraphs_are_joined() {
        let json = r#"[{"title": "t", "paragraphs": ["一，", "二。"]}, {"paragraphs": []}]"#;
        assert_eq!(parse(Path::new("f"), json.as_bytes()).unwrap(), ["一，二。", ""]);
    }
}
