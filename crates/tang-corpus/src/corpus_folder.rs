//! The built corpus on disk.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tang_files::{sha256_hex, write_atomically};
use tang_prosody::Form;

use crate::{Corpus, CorpusError, Split};

const POEMS: &str = "tang.txt";
const TRAIN: &str = "train.txt";
const VALIDATION: &str = "val.txt";
/// In the format of the `sha256sum` command, which can check it.
const CHECKSUMS: &str = "SHA256SUMS";

/// A folder with the corpus and its split as text, one poem a line, each line ended by a newline:
/// `tang.txt` with all poems, `train.txt` and `val.txt`, and `SHA256SUMS` over the three.
///
/// Each file is replaced whole, the checksums last. An interrupt between two files therefore leaves
/// a folder with empty checksums, which is noticed when the folder is opened. Files of these names
/// without checksums beside them are somebody else's and are never replaced.
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
        fs::metadata(self.path.join(CHECKSUMS)).is_ok_and(|sums| sums.len() > 0)
    }

    /// Writes a corpus and its split, and creates the folder if it is missing.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Io`] with the file that could not be written, [`CorpusError::Foreign`] with one
    /// that was not written here before.
    pub fn write(&self, corpus: &Corpus, split: &Split) -> Result<(), CorpusError> {
        fs::create_dir_all(&self.path).map_err(CorpusError::io("create", &self.path))?;
        let foreign = [POEMS, TRAIN, VALIDATION].map(|name| self.path.join(name));
        if let Some(path) = foreign.into_iter().find(|path| path.exists())
            && !self.path.join(CHECKSUMS).exists()
        {
            return Err(CorpusError::Foreign { path });
        }
        // No checksums yet, but the folder is ours from here on.
        self.write_file(CHECKSUMS, "")?;
        let mut checksums = String::new();
        for (name, poems) in [
            (TRAIN, &split.train),
            (VALIDATION, &split.validation),
            (POEMS, &corpus.poems),
        ] {
            let text: String = poems.iter().flat_map(|poem| [poem, "\n"]).collect();
            checksums += &format!("{}  {name}\n", sha256_hex(&text));
            self.write_file(name, &text)?;
        }
        self.write_file(CHECKSUMS, &checksums)
    }

    /// The split of the corpus.
    ///
    /// # Errors
    ///
    /// [`CorpusError::NotBuilt`] if there is none, [`CorpusError::Changed`] if a file is missing, is
    /// not the one that was written with the others, or holds no poems of a strict form.
    pub fn open(&self) -> Result<Split, CorpusError> {
        Ok(Split {
            train: self.read_file(TRAIN)?,
            validation: self.read_file(VALIDATION)?,
        })
    }

    /// All poems of the corpus, in the order of their source.
    ///
    /// # Errors
    ///
    /// Those of [`CorpusFolder::open`].
    pub fn poems(&self) -> Result<Vec<String>, CorpusError> {
        self.read_file(POEMS)
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), CorpusError> {
        let path = self.path.join(name);
        write_atomically(&path, text.as_bytes()).map_err(CorpusError::io("write", &path))
    }

    fn read_file(&self, name: &str) -> Result<Vec<String>, CorpusError> {
        let checksums = read_if_there(&self.path.join(CHECKSUMS))?
            .filter(|checksums| !checksums.is_empty())
            .ok_or_else(|| CorpusError::NotBuilt {
                path: self.path.clone(),
            })?;
        let path = self.path.join(name);
        let text = read_if_there(&path)?.filter(|text| {
            let wanted = format!("{}  {name}", sha256_hex(text));
            checksums.lines().any(|line| line == wanted)
        });
        let poems: Vec<_> = text.iter().flat_map(|text| text.lines()).collect();
        // Checksums can be made anew for files that are no corpus.
        match poems.is_empty() || poems.iter().any(|poem| Form::of(poem).is_none()) {
            true => Err(CorpusError::Changed { path }),
            false => Ok(poems.into_iter().map(str::to_owned).collect()),
        }
    }
}

fn read_if_there(path: &Path) -> Result<Option<String>, CorpusError> {
    match fs::read(path) {
        // Bytes that are no UTF-8 fail their checksum.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CorpusError::io("read", path)(error)),
    }
}
