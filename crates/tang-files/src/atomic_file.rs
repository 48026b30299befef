//! Files that are written completely or not at all.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempPath};

/// Suffix of the names of temporary files. A killed process may leave such files.
pub const TEMPORARY_SUFFIX: &str = ".tang-tmp";

/// A complete file under a temporary name, in the folder of its final path. It is deleted unless
/// [`put`](Self::put) renames it.
#[derive(Debug)]
pub struct NewFile {
    temporary: TempPath,
    path: PathBuf,
}

impl NewFile {
    /// Writes `bytes` to a temporary file in the folder of `path` and syncs it to the disk. The
    /// folder must exist.
    ///
    /// # Errors
    ///
    /// Those of the file system; the temporary file is then deleted.
    pub fn write(path: &Path, bytes: &[u8]) -> io::Result<Self> {
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
        Ok(Self { temporary: file.into_temp_path(), path: path.to_owned() })
    }

    /// The final path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its final path. An existing file is replaced; a link is replaced itself,
    /// and its target stays.
    ///
    /// # Errors
    ///
    /// Those of the file system; the final path is then unchanged.
    pub fn put(self) -> io::Result<()> {
        Ok(self.temporary.persist(self.path)?)
    }
}

/// Writes `bytes` to a temporary file beside `path` and renames it to `path`, so that an interrupt
/// leaves either the old file or the new one. The folder must exist.
///
/// # Errors
///
/// Those of the file system; `path` is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    NewFile::write(path, bytes)?.put()
}

/// Deletes the temporary files that killed processes left in a folder. No other process may write
/// to the folder meanwhile.
///
/// # Errors
///
/// Those of the file system.
pub fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_string_lossy().ends_with(TEMPORARY_SUFFIX) || entry.file_type()?.is_dir() {
            continue;
        }
        match fs::remove_file(entry.path()) {
            // A process outside the lock has renamed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_new_file_is_put_or_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("poem.txt");
        fs::write(&path, "old").unwrap();
        drop(NewFile::write(&path, b"new").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let new = NewFile::write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(new.path(), path);
        new.put().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn other_names_of_the_file_keep_what_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("notes");
        let [link, hard_link] = ["link", "hard-link"].map(|name| folder.path().join(name));
        fs::write(&notes, "my own notes").unwrap();
        std::os::unix::fs::symlink(&notes, &link).unwrap();
        fs::hard_link(&notes, &hard_link).unwrap();
        for path in [&link, &hard_link] {
            write_atomically(path, b"new").unwrap();
            assert_eq!(fs::read(path).unwrap(), b"new");
        }
        assert_eq!(fs::read(&notes).unwrap(), b"my own notes");
    }

    #[test]
    fn only_leftovers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.tang-tmp"), "half").unwrap();
        fs::write(path("poem.txt"), "whole").unwrap();
        fs::create_dir(path("b.tang-tmp")).unwrap();
        remove_leftovers(folder.path()).unwrap();
        assert!(!path("a.tang-tmp").exists());
        assert!(path("poem.txt").exists() && path("b.tang-tmp").exists());
    }
}
