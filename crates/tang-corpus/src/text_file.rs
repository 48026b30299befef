//! A plain text file with one poem a line.

use std::path::Path;

use crate::CorpusError;

/// The lines of the file that are not blank, without space around them. `path` is what errors call
/// it.
pub(crate) fn read_text(path: &Path, bytes: &[u8]) -> Result<Vec<String>, CorpusError> {
    let text = std::str::from_utf8(bytes).map_err(|error| CorpusError::NotUtf8 {
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
