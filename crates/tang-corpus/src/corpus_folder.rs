//! The built corpus on disk.

mod checksums;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tang_files::{FolderLock, NewFile, read_at_most, remove_leftovers};
use tang_prosody::Form;

use self::checksums::Checksums;
use crate::{Corpus, CorpusError, Split};

const POEMS: &str = "tang.txt";
const TRAIN: &str = "train.txt";
const VALIDATION: &str = "val.txt";
const SONG: &str = "song.txt";
/// The texts of every corpus.
const TEXTS: [&str; 3] = [TRAIN, VALIDATION, POEMS];
const CHECKSUMS: &str = "SHA256SUMS";
/// The most bytes of one file; the largest of the published corpus has 21 MB.
const MAX_BYTES: u64 = 256 << 20;

/// A folder with the corpus and its split as text, one poem a line, each line ended by a newline:
/// `tang.txt` with all Tang poems, `train.txt` and `val.txt`, perhaps `song.txt`, and `SHA256SUMS` over all of
/// them. Beside them is `.lock`, which a writer locks.
///
/// A corpus is written whole under temporary names before the first file takes its place: a full
/// disk leaves the corpus that was there. During the renames `SHA256SUMS` lists the old and the new
/// files after a first line that says so: after an interrupt the folder is no corpus, but can be
/// written again.
///
/// Only files that were written here are replaced, and only if they are unchanged since. Links are
/// not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusFolder {
    path: PathBuf,
}

impl CorpusFolder {
    /// The corpus in the folder `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Whether a corpus was built here to its end. [`CorpusFolder::open`] still checks the files.
    pub fn exists(&self) -> bool {
        !matches!(self.checksums(), Err(CorpusError::NotBuilt { .. }))
    }

    /// Checks that a corpus may be written here: its files are missing, or unchanged since they were written here.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Foreign`] with a file that is neither, [`CorpusError::Io`] with one that
    /// cannot be read.
    pub fn check_place(&self) -> Result<(), CorpusError> {
        self.own_files().map(|_| ())
    }

    /// Writes a corpus and its split, and creates the folder if it is missing. The Song poems are those of the
    /// split; if it has none, those of an older corpus are removed.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Io`] with the file that could not be written, [`CorpusError::Foreign`] with
    /// one that was not written here before, or was changed since, and [`CorpusError::Locked`] if
    /// another process writes here. An older corpus is then unchanged, except after a failed
    /// rename: then it has to be built again.
    pub fn write(&self, corpus: &Corpus, split: &Split) -> Result<(), CorpusError> {
        self.check_place()?;
        fs::create_dir_all(&self.path).map_err(CorpusError::io("create", &self.path))?;
        let _lock = FolderLock::take(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => CorpusError::Locked(self.path.clone()),
            _ => CorpusError::io("lock", &self.path)(error),
        })?;
        remove_leftovers(&self.path).map_err(CorpusError::io("write", &self.path))?;
        // Before the lock was taken another process may have written.
        let old = self.own_files()?;

        let mut texts = vec![
            (TRAIN, text(&split.train)),
            (VALIDATION, text(&split.validation)),
            (POEMS, text(&corpus.poems)),
        ];
        if !split.song.is_empty() {
            texts.push((SONG, text(&split.song)));
        }
        let checksums = Checksums::of(texts.iter().map(|(name, text)| (*name, text.as_str())));
        let unfinished = checksums.replacing(&old).to_text();
        let is_left_over = split.song.is_empty() && old.iter().any(|(name, _)| *name == SONG);
        let files = [(CHECKSUMS, unfinished)]
            .into_iter()
            .chain(texts)
            .chain([(CHECKSUMS, checksums.to_text())])
            .map(|(name, text)| {
                let path = self.path.join(name);
                NewFile::write(&path, text.as_bytes()).map_err(CorpusError::io("write", &path))
            })
            .collect::<Result<Vec<NewFile>, _>>()?;
        // The last file is the list without it.
        let last = files.len() - 1;
        for (index, file) in files.into_iter().enumerate() {
            if index == last && is_left_over {
                let path = self.path.join(SONG);
                fs::remove_file(&path).map_err(CorpusError::io("remove", &path))?;
            }
            let path = file.path().to_owned();
            file.put().map_err(CorpusError::io("write", &path))?;
        }
        Ok(())
    }

    /// The split of the corpus.
    ///
    /// # Errors
    ///
    /// [`CorpusError::NotBuilt`] if there is none, [`CorpusError::Changed`] if a file is missing, is
    /// not the one that was written with the others, or holds no poems of a strict form.
    pub fn open(&self) -> Result<Split, CorpusError> {
        // The list is read once, so that all files are of one corpus.
        let checksums = self.checksums()?;
        let poems = |name| self.read_poems(name, &checksums);
        let song = if checksums.names(SONG) { poems(SONG)? } else { Vec::new() };
        Ok(Split { train: poems(TRAIN)?, validation: poems(VALIDATION)?, song })
    }

    /// All poems of the corpus, in the order of their source.
    ///
    /// # Errors
    ///
    /// Those of [`CorpusFolder::open`].
    pub fn poems(&self) -> Result<Vec<String>, CorpusError> {
        self.read_poems(POEMS, &self.checksums()?)
    }

    /// The checksums of a corpus that was built to its end.
    fn checksums(&self) -> Result<Checksums, CorpusError> {
        let not_built = || CorpusError::NotBuilt(self.path.clone());
        let path = self.path.join(CHECKSUMS);
        let bytes = read_if_there(&path)?.ok_or_else(not_built)?;
        if bytes.is_empty() {
            return Err(not_built());
        }
        match Checksums::parse(&String::from_utf8_lossy(&bytes), &TEXTS, SONG) {
            Some(checksums) if checksums.is_finished => Ok(checksums),
            Some(_) => Err(not_built()),
            None => Err(CorpusError::Changed(path)),
        }
    }

    /// The texts in the folder, if all of them were written here.
    fn own_files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, CorpusError> {
        let mut files = Vec::new();
        for name in TEXTS.into_iter().chain([SONG]) {
            if let Some(bytes) = self.plain_file(name)? {
                files.push((name, bytes));
            }
        }
        let foreign = |name: &str| CorpusError::Foreign(self.path.join(name));
        let checksums = match self.plain_file(CHECKSUMS)? {
            None => None,
            Some(bytes) => {
                let checksums = Checksums::parse(&String::from_utf8_lossy(&bytes), &TEXTS, SONG);
                Some(checksums.ok_or_else(|| foreign(CHECKSUMS))?)
            }
        };
        let is_own = |name: &str, bytes: &[u8]| {
            let checksums = checksums.as_ref();
            checksums.is_some_and(|sums| sums.has(name, bytes)) && poems(bytes).is_some()
        };
        match files.iter().find(|(name, bytes)| !is_own(name, bytes)) {
            None => Ok(files),
            Some((name, _)) => Err(foreign(name)),
        }
    }

    /// The bytes of a file that may have been written here: it is no link, no folder and no pipe.
    fn plain_file(&self, name: &str) -> Result<Option<Vec<u8>>, CorpusError> {
        let path = self.path.join(name);
        match fs::symlink_metadata(&path) {
            Ok(there) if there.is_file() => read_if_there(&path),
            Ok(_) => Err(CorpusError::Foreign(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CorpusError::io("read", &path)(error)),
        }
    }

    fn read_poems(&self, name: &str, checksums: &Checksums) -> Result<Vec<String>, CorpusError> {
        let path = self.path.join(name);
        let bytes = read_if_there(&path)?.filter(|bytes| checksums.has(name, bytes));
        match bytes.as_deref().and_then(poems) {
            None => Err(CorpusError::Changed(path)),
            Some(poems) => Ok(poems.into_iter().map(str::to_owned).collect()),
        }
    }
}

/// The poems of a text. `None` if it has none, or a line that is no poem of a strict form: right
/// checksums alone do not make a corpus.
fn poems(bytes: &[u8]) -> Option<Vec<&str>> {
    let poems: Vec<&str> = std::str::from_utf8(bytes).ok()?.lines().collect();
    let is_corpus = !poems.is_empty() && poems.iter().all(|poem| Form::of(poem).is_some());
    is_corpus.then_some(poems)
}

fn text(poems: &[String]) -> String {
    poems.iter().flat_map(|poem| [poem, "\n"]).collect()
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, CorpusError> {
    match read_at_most(MAX_BYTES, path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CorpusError::io("read", path)(error)),
    }
}
