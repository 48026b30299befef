//! Files that an interrupt cannot leave half written, and the checksum that tells one from another.

mod atomic_file;
mod sha256;

pub use atomic_file::write_atomically;
pub use sha256::sha256_hex;
