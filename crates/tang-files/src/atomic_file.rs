//! Files that are there whole or not at all.

use std::{
    io::{self, Write},
    path::Path,
};

use tempfile::Builder;

/// How the names of temporary files end; a killed process may leave one behind.
pub const TEMPORARY_SUFFIX: &str = ".tang-tmp";

/// Writes `bytes` to a temporary file beside `path` and renames it to `path`, so that an interrupt
/// leaves either the old file or the new one. The folder must exist.
///
/// # Errors
///
/// Whatever the file system answers; `path` is then as it was.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut builder = Builder::new();
    builder.suffix(TEMPORARY_SUFFIX);
    // A temporary file is private to its owner unless told otherwise; the umask still applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn replaces_the_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("poem.txt");
        write_atomically(&path, b"old, and longer").unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn keeps_what_was_there_if_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("occupied");
        fs::create_dir(&path).unwrap();
        assert!(write_atomically(&path, b"new").is_err());
        assert!(path.is_dir());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
