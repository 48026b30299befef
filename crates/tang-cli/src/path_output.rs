//! Paths on stdout.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
};

use tang_files::escape_value;

/// Prints a path as one line: to a program as it is, to a terminal with nothing that is not seen.
///
/// # Errors
///
/// Those of stdout.
pub fn print_path(path: &Path) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        let path = path.display().to_string();
        writeln!(out, "{}", escape_value(&path))
    } else {
        writeln!(out, "{}", path.display())
    }
}
