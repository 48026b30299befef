//! Files written whole or not at all, reading of files that may be anything, their kinds, their checksums, and text
//! from them that is safe to show.
//!
//! ```
//! use tang_files::{read_bounded, write_atomically};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("poem.txt");
//! write_atomically(&path, "白日依山尽".as_bytes())?;
//! assert_eq!(read_bounded(&path)?, "白日依山尽".as_bytes());
//! # Ok::<(), std::io::Error>(())
//! ```

mod atomic_file;
mod bounded_read;
mod escape;
mod file_kind;
mod folder_lock;
mod pipe;
mod sha256;
mod wide_text;

pub use atomic_file::{NewFile, TEMPORARY_SUFFIX, remove_leftovers, write_atomically};
pub use bounded_read::{read_at_most, read_bounded, read_stream_at_most, read_stream_bounded};
pub use escape::{escape_lines, escape_message, escape_value, is_invisible};
pub use file_kind::FileKind;
pub use folder_lock::FolderLock;
pub use sha256::sha256_hex;
