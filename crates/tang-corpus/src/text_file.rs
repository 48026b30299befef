//! A plain text file of poems.

use std::path::Path;

use tang_files::FileKind;

use crate::{CorpusError, Page};

impl Page {
    /// The page in a file with these bytes, which `path` names in errors.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Kind`] for a file that is no plain text, [`CorpusError::NotUtf8`] for text in
    /// another encoding.
    pub fn of_file(path: &Path, bytes: &[u8]) -> Result<Self, CorpusError> {
        if let Some(kind) = FileKind::of(bytes) {
            let path = path.to_owned();
            return Err(CorpusError::Kind { path, kind });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| CorpusError::NotUtf8 {
            path: path.to_owned(),
            offset: error.valid_up_to() + 1,
        })?;
        Ok(Self::read(text))
    }
}
