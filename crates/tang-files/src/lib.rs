//! Files that an interrupt cannot leave half written, reading of files that may be anything, their kinds,
//! the checksum that tells one from another, and text from them that is safe to show.

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
