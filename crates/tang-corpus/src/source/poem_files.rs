//! The files of Tang and Song poems in the chinese-poetry collection: their places and their contents.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use tang_files::read_at_most;

use crate::{Collections, CorpusError, Progress, Step};

/// Folders of the files: in the package, in the repository, in older states of the repository.
const FOLDERS: [&str; 3] = ["dist/quantangshi", "全唐诗", "json"];

/// The most bytes of one file; those of the collection have 1 MB.
const MAX_FILE: u64 = 16 << 20;
/// The most bytes of all files together; those of the collection have 58 MB of Tang poems and 109 MB of Song poems.
const MAX_FILES: u64 = 256 << 20;
/// The most files in a folder; the collection has 58 of Tang poems and 255 of Song poems.
const MAX_COUNT: usize = 10_000;

/// One poem of a file; its title and author are not used.
#[derive(Deserialize)]
struct Entry {
    paragraphs: Vec<String>,
}

/// The texts of the poem files, each text a poem's paragraphs joined.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Tang poems, in traditional characters.
    pub tang: Vec<String>,
    /// Song poems, likewise; empty unless [`Collections::TangAndSong`] is read.
    pub song: Vec<String>,
}

/// A poem file: its collection, and its place in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileNumber {
    is_song: bool,
    number: u32,
}

impl FileNumber {
    /// That of a file `poet.tang.N.json` or `poet.song.N.json` in one of the known folders, if its collection is
    /// among `collections`; `path` is relative to the top of the package or repository.
    pub(crate) fn in_package(path: &Path, collections: Collections) -> Option<Self> {
        let folder = path.parent()?;
        Self::of(path, collections)
            .filter(|_| FOLDERS.iter().any(|known| folder == Path::new(known)))
    }

    fn of(path: &Path, collections: Collections) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix("poet.")?.strip_suffix(".json")?;
        let (collection, number) = name.split_once('.')?;
        let is_song = match collection {
            "tang" => false,
            "song" if collections == Collections::TangAndSong => true,
            _ => return None,
        };
        Some(Self { is_song, number: number.parse().ok()? })
    }
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
    texts: Vec<(FileNumber, Vec<String>)>,
    bytes: u64,
}

impl PoemFiles {
    /// The most bytes that the next file may have.
    pub(crate) fn room(&self) -> u64 {
        MAX_FILE.min(MAX_FILES.saturating_sub(self.bytes))
    }

    /// Adds the texts of a file.
    pub(crate) fn add(
        &mut self,
        number: FileNumber,
        path: &Path,
        json: &[u8],
    ) -> Result<(), CorpusError> {
        self.texts.push((number, parse(path, json)?));
        self.bytes += json.len() as u64;
        Ok(())
    }

    /// The texts of all files, each collection in numeric order of N.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Unreadable`] if one of `collections` has no file.
    pub(crate) fn in_order(
        mut self,
        collections: Collections,
        origin: &Path,
    ) -> Result<Texts, CorpusError> {
        self.texts.sort_by_key(|&(number, _)| number);
        let first_song = self.texts.partition_point(|(number, _)| !number.is_song);
        let song = self.texts.split_off(first_song);
        let missing = if self.texts.is_empty() {
            Some("tang")
        } else if collections == Collections::TangAndSong && song.is_empty() {
            Some("song")
        } else {
            None
        };
        if let Some(collection) = missing {
            let fault = format!(
                "has no file poet.{collection}.N.json, neither at its top nor in dist/quantangshi, 全唐诗 or \
                 json: give the unpacked package or a clone of the chinese-poetry repository"
            );
            return Err(CorpusError::unreadable(origin, fault));
        }
        let concat = |files: Vec<(FileNumber, Vec<String>)>| {
            files.into_iter().flat_map(|(_, texts)| texts).collect()
        };
        Ok(Texts { tang: concat(self.texts), song: concat(song) })
    }
}

/// The texts of an unpacked package, a clone of the repository, or a folder with the files at its
/// top.
pub(crate) fn read_folder(
    folder: &Path,
    collections: Collections,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Texts, CorpusError> {
    let mut paths = files_in(folder, collections)?;
    for known in FOLDERS.map(|known| folder.join(known)) {
        if paths.is_empty() && known.is_dir() {
            paths = files_in(&known, collections)?;
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
    files.in_order(collections, folder)
}

/// Number, path and bytes of each poem file directly in `folder`.
fn files_in(
    folder: &Path,
    collections: Collections,
) -> Result<Vec<(FileNumber, PathBuf, u64)>, CorpusError> {
    let failed = || CorpusError::io("read", folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let path = entry.path();
        if let Some(number) = FileNumber::of(&path, collections) {
            let metadata = entry.metadata().map_err(CorpusError::io("read", &path))?;
            files.push((number, path, metadata.len()));
        }
        if files.len() > MAX_COUNT {
            let message = format!("it has more than {MAX_COUNT} files of poems");
            return Err(failed()(io::Error::new(io::ErrorKind::FileTooLarge, message)));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_only_the_files_of_poems_that_were_asked_for() {
        let (tang, song) = (|number| Some((false, number)), |number| Some((true, number)));
        for (path, wanted) in [
            ("dist/quantangshi/poet.tang.57000.json", tang(57_000)),
            ("全唐诗/poet.tang.0.json", tang(0)),
            ("json/poet.tang.1000.json", tang(1000)),
            ("dist/quantangshi/poet.song.254000.json", song(254_000)),
            ("dist/quantangshi/error/poet.tang.0.json", None),
            ("dist/quantangshi/error/poet.song.0.json", None),
            ("dist/quantangshi/poet.yuan.0.json", None),
            ("dist/quantangshi/authors.tang.json", None),
            ("poet.tang.0.json", None),
        ] {
            let number = |collections| {
                let number = FileNumber::in_package(Path::new(path), collections);
                number.map(|FileNumber { is_song, number }| (is_song, number))
            };
            assert_eq!(number(Collections::TangAndSong), wanted, "{path}");
            let wanted = wanted.filter(|(is_song, _)| !is_song);
            assert_eq!(number(Collections::Tang), wanted, "{path}");
        }
    }

    #[test]
    fn collections_come_apart_and_in_order() {
        let mut files = PoemFiles::default();
        for (is_song, number, text) in
            [(true, 9, "丙"), (false, 1000, "乙"), (true, 10, "丁"), (false, 0, "甲")]
        {
            let json = format!(r#"[{{"paragraphs": ["{text}"]}}]"#);
            files.add(FileNumber { is_song, number }, Path::new("f"), json.as_bytes()).unwrap();
        }
        let texts = files.in_order(Collections::TangAndSong, Path::new("f")).unwrap();
        assert_eq!((texts.tang.concat(), texts.song.concat()), ("甲乙".into(), "丙丁".into()));
    }

    #[test]
    fn paragraphs_are_joined() {
        let json = r#"[{"title": "t", "paragraphs": ["一，", "二。"]}, {"paragraphs": []}]"#;
        assert_eq!(parse(Path::new("f"), json.as_bytes()).unwrap(), ["一，二。", ""]);
    }
}
