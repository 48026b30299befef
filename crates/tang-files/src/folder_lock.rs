//! One process at a time in a folder.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::Path,
};

/// The file that is locked. It stays when the lock is gone, and nothing is ever written to it.
const LOCK_FILE: &str = ".lock";

/// A folder that this process alone writes to, as long as every other asks for the lock too.
///
/// The lock is the operating system's: it ends with the process, however that ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Locks an existing folder by its file `.lock`, which is created if it is missing. A file that is there is
    /// opened as it is; a link is not followed.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] if another process, or another part of this one, has the lock;
    /// [`io::ErrorKind::InvalidInput`] if `.lock` is a link, a folder, a pipe or a device; else those of the
    /// file system.
    pub fn take(folder: &Path) -> io::Result<Self> {
        let path = folder.join(LOCK_FILE);
        let file = match open(&path) {
            // Another process has created it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(&path),
            opened => opened,
        }?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::Error(error)) => Err(error),
            Err(TryLockError::WouldBlock) => {
                let message = "another process is at work there";
                Err(io::Error::new(io::ErrorKind::WouldBlock, message))
            }
        }
    }
}

/// Opens the file, or creates it. Only a plain file is opened: opening a pipe would block.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => options.open(path),
        // This follows no link.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            options.create_new(true).open(path)
        }
        Err(error) => Err(error),
        Ok(_) => {
            let message = ".lock in it is a link, a folder, a pipe or a device: move it away";
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let second = FolderLock::take(folder.path()).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::WouldBlock);
        drop(first);
        FolderLock::take(folder.path()).unwrap();
        let missing = FolderLock::take(&folder.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_that_is_there_keeps_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        let other_name = folder.path().join("notes");
        fs::write(&other_name, "my own notes").unwrap();
        fs::hard_link(&other_name, &path).unwrap();
        drop(FolderLock::take(folder.path()).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"my own notes");
        assert_eq!(fs::read(&other_name).unwrap(), b"my own notes");
    }

    #[cfg(unix)]
    #[test]
    fn links_folders_and_pipes_are_refused() {
        use std::{os::unix::fs::symlink, process::Command};

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        let refused = || FolderLock::take(folder.path()).unwrap_err().kind();

        let notes = folder.path().join("notes");
        symlink(&notes, &path).unwrap();
        assert_eq!(refused(), io::ErrorKind::InvalidInput);
        assert!(!notes.exists(), "created through a link");
        fs::write(&notes, "my own notes").unwrap();
        assert_eq!(refused(), io::ErrorKind::InvalidInput);
        assert_eq!(fs::read(&notes).unwrap(), b"my own notes");

        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(refused(), io::ErrorKind::InvalidInput);

        fs::remove_dir(&path).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert_eq!(refused(), io::ErrorKind::InvalidInput);
    }
}
