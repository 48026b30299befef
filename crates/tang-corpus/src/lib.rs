//! The corpus of regulated Tang verse: fetched or read from a file, converted to simplified
//! characters, cleaned to the four strict forms, and split into training and validation poems.
//!
//! ```text
//! Page / Npm -> Corpus -> Split -> CorpusFolder
//!                 |
//!                 +-> Statistics, NextCharacters
//! ```
//!
//! A poem is a `String` of Han characters and the marks `，` and `。`, without a newline. No tensor
//! type appears here, and nothing is printed: long functions report their [`Progress`] instead.

mod archive;
mod checksums;
mod converter;
mod corpus;
mod corpus_folder;
mod error;
mod fetch;
mod inflated;
mod next_characters;
mod page;
mod page_row;
mod page_verse;
mod poem_files;
mod program;
mod progress;
mod source;
mod split;
mod statistics;
mod text_file;
mod traditional;
mod unread;

pub use converter::Converter;
pub use corpus::{Corpus, Counts};
pub use corpus_folder::CorpusFolder;
pub use error::CorpusError;
pub use fetch::Npm;
pub use next_characters::NextCharacters;
pub use page::{LeftOut, Page, PageText};
pub use progress::{Progress, Step};
pub use split::Split;
pub use statistics::{FormStatistics, Statistics};
pub use traditional::Traditional;
pub use unread::{Unread, UnreadReason};
