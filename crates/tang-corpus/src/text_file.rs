//! A plain text file with one poem a line.

use std::{fs, path::Path};

use crate::CorpusError;

/// The lines of the file that are not blank, without space around them.
pub(crate) fn read_text_file(path: &Path) -> Result<Vec<String>, CorpusError> {
    let bytes = fs::read(path).map_err(CorpusError::io("read", path))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| CorpusError::NotUtf8 {
        path: path.to_owned(),
        offset: error.valid_up_to() + 1,
    })?;
    Ok(text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect())
}
