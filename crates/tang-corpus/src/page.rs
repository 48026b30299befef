//! Poems as people type, paste and save them.

mod reader;
mod row;
mod run;
mod unread;
mod verses;

use std::path::Path;

use tang_files::FileKind;
use tang_prosody::is_han;

use crate::CorpusError;

pub use unread::Unread;

/// The texts of a page: poems, and others that could not be read as one.
///
/// An empty line ends a poem if the rows before it are a whole one. A line of verse ends at a mark
/// or, in rows of equal length, at the end of the row. A row has one line, one couplet or a whole
/// poem; in the last case, its neighbours are read as poems of one row each, too. Titles and
/// authors above a poem are left out, as are notes in brackets, numbers, quotation marks and
/// spaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The texts in order.
    pub texts: Vec<PageText>,
    /// The parts of the page that belong to no text.
    pub left_out: LeftOut,
}

/// One text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageText {
    /// The typed text: of a poem the characters and the marks, `，` and `。` where there are none; of
    /// another text all but the spaces.
    pub typed: String,
    /// The text with `，` and `。` in turn after its lines, or the first place where it is no poem.
    pub poem: Result<String, Unread>,
}

/// The parts of a page that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Titles, authors and numbers of poems, a row each.
    pub titles: Vec<String>,
    /// Count of notes in brackets.
    pub notes: usize,
    /// Count of numbers.
    pub numbers: usize,
}

impl LeftOut {
    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.titles.is_empty() && self.notes + self.numbers == 0
    }
}

impl Page {
    /// Reads a page.
    pub fn read(text: &str) -> Self {
        reader::read(text)
    }

    /// The page in a file with these bytes, which `path` names in errors.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Unreadable`] for a file that is no plain text, or not in UTF-8.
    pub fn of_file(path: &Path, bytes: &[u8]) -> Result<Self, CorpusError> {
        if let Some(kind) = FileKind::of(bytes) {
            return Err(CorpusError::unreadable(path, format!("is {kind}")));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let place = valid.len() + 1;
            let fault = if valid.contains(is_han) {
                format!(
                    "is UTF-8 but for byte {place}: put the right character there, or leave out the broken part, \
                     for example `iconv -c -f UTF-8 -t UTF-8 OLD > NEW`"
                )
            } else {
                format!(
                    "is not UTF-8 (byte {place} breaks it): convert it first, for example \
                     `iconv -f GBK -t UTF-8 OLD > NEW`, or from BIG5"
                )
            };
            CorpusError::unreadable(path, fault)
        })?;
        Ok(Self::read(text))
    }
}
