//! What the user should know, but no program that reads stdout.

use std::{
    fmt::Display,
    io::{self, Write},
};

use tang_files::escape_message;

/// Writes one line to stderr; text from arguments and files can do nothing to the terminal. If nobody reads
/// stderr any more, nobody misses the note.
pub fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{}", escape_message(&text.to_string()));
}
