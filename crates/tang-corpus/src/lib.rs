//! The corpus of regulated Tang verse: fetched or read from a file, converted to simplified
//! characters, cleaned to the four strict forms, and split into training and validation poems.
//!
//! ```text
//! file / Npm -> Corpus -> Split -> CorpusFolder
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
mod poem_files;
mod program;
mod progress;
mod source;
mod split;
mod statistics;
mod text_file;

pub use converter::Converter;
pub use corpus::{Corpus, Counts};
pub use corpus_folder::CorpusFolder;
pub use error::CorpusError;
pub use fetch::Npm;
pub use next_characters::NextCharacters;
pub use progress::{Progress, Step};
pub use split::Split;
pub use statistics::{FormStatistics, Statistics};
