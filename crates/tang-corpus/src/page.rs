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
/// An empty line ends a poem, if it is one by then. Its lines are closed by any mark or by the ends of equally long
/// rows, each alone, in couplets, or all in one row; a row with more than a couplet makes it and its neighbours
/// poems of one row each. Titles and authors above a poem are left out, as are notes in
/// brackets, numbers, quotation marks and spaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The texts in order.
    pub texts: Vec<PageText>,
    /// The parts that belong to no text.
    pub left_out: LeftOut,
}

/// One text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageText {
    /// The typed text: of a poem the characters and the marks, `，` and `。` where there are none; of
    /// another text all but the spaces.
    pub typed: String,
    /// The same closed by `，` and `。` in turn, or the place where it stops being a poem.
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
    /// Whether there is nothing.
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
