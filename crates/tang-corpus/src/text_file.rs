//! A plain text file of poems.

use std::path::Path;

use tang_files::FileKind;
use tang_prosody::is_han;

use crate::{CorpusError, Page};

impl Page {
    /// The page in a file with these bytes, which `path` names in errors.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Kind`] for a file that is no plain text, [`CorpusError::NotUtf8`] for text in
    /// another encoding, [`CorpusError::BrokenUtf8`] where Han characters stand before the fault.
    pub fn of_file(path: &Path, bytes: &[u8]) -> Result<Self, CorpusError> {
        if let Some(kind) = FileKind::of(bytes) {
            let path = path.to_owned();
            return Err(CorpusError::Kind { path, kind });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = &bytes[..error.valid_up_to()];
            let (path, offset) = (path.to_owned(), valid.len() + 1);
            match std::str::from_utf8(valid) {
                Ok(text) if text.contains(is_han) => CorpusError::BrokenUtf8 { path, offset },
                _ => CorpusError::NotUtf8 { path, offset },
            }
        })?;
        Ok(Self::read(text))
    }
}
