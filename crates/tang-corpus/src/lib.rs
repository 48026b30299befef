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
//!
//! ```
//! use tang_corpus::Page;
//!
//! let page = Page::read("登鹳雀楼\n王之涣\n白日依山尽 黄河入海流\n欲穷千里目 更上一层楼");
//! assert_eq!(
//!     page.texts[0].poem.as_deref(),
//!     Ok("白日依山尽，黄河入海流。欲穷千里目，更上一层楼。")
//! );
//! assert_eq!(page.left_out.titles, ["登鹳雀楼", "王之涣"]);
//! ```

mod corpus;
mod corpus_folder;
mod error;
mod next_characters;
mod page;
mod progress;
mod script;
mod source;
mod split;
mod statistics;

pub use corpus::{Collections, Corpus, Counts};
pub use corpus_folder::CorpusFolder;
pub use error::CorpusError;
pub use next_characters::NextCharacters;
pub use page::{LeftOut, Page, PageText, Unread};
pub use progress::{Progress, Step};
pub use script::{Converter, Traditional};
pub use source::{Npm, Texts};
pub use split::{SongLeftOut, Split};
pub use statistics::{FormStatistics, Statistics};
