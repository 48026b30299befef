//! What the user should know, but no program that reads stdout.

use std::{
    fmt::Display,
    io::{self, Write},
};

/// Writes a line to stderr. If nobody reads stderr any more, nobody misses the note.
pub fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
