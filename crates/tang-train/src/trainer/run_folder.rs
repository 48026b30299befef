//! The folder that one training run writes to.

use std::{
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
};

use tang_files::{FolderLock, TEMPORARY_SUFFIX, remove_leftovers};

use crate::TrainError;

/// A folder that this process alone trains into.
///
/// It contains the best model so far (a model folder with its vocabulary), the training state of
/// the last save, and the log. A run begins in a new or empty folder, so it never replaces a file
/// of somebody else; in its own folder it replaces a link by a file, and the target of the link
/// stays.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: FolderLock,
}

impl RunFolder {
    /// Creates the folder if need be and locks it.
    ///
    /// # Errors
    ///
    /// [`TrainError::RunExists`] if a run has left its state there, [`TrainError::NotEmpty`] if it
    /// has other files, none of which is changed; [`TrainError::Locked`] if another process trains
    /// into it.
    pub(crate) fn start(path: &Path) -> Result<Self, TrainError> {
        if path.exists() && !state_path(path).exists() {
            check_free(path)?;
        }
        fs::create_dir_all(path).map_err(TrainError::io(path))?;
        let folder = Self::lock(path)?;
        // After the lock: a run that has just begun is reported as running, not as one that exists.
        check_free(path)?;
        Ok(folder)
    }

    /// Locks a folder in which a run has left its state.
    ///
    /// # Errors
    ///
    /// [`TrainError::NoRun`] if there is none, [`TrainError::Locked`] if another process trains
    /// into it.
    pub fn resume(path: &Path) -> Result<Self, TrainError> {
        state_of_run(path)?;
        Self::lock(path)
    }

    /// Whether a run could start in the folder `path`, which need not exist.
    pub fn is_free(path: &Path) -> bool {
        !path.exists() || check_free(path).is_ok()
    }

    fn lock(path: &Path) -> Result<Self, TrainError> {
        let lock = FolderLock::take(path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => TrainError::Locked(path.to_owned()),
            _ => TrainError::io(&path.join(".lock"))(error),
        })?;
        remove_leftovers(path).map_err(TrainError::io(path))?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file with weights, moments and step of the last save.
    pub(crate) fn state_path(&self) -> PathBuf {
        state_path(&self.path)
    }

    /// The log, one JSON object per line.
    pub fn log_path(&self) -> PathBuf {
        self.path.join("log.jsonl")
    }
}

/// Checks that a run may begin in a folder: it must have nothing but hidden files, such as the
/// lock, and temporary files of a killed run.
fn check_free(path: &Path) -> Result<(), TrainError> {
    if state_path(path).exists() {
        return Err(TrainError::RunExists(path.to_owned()));
    }
    let names = || -> io::Result<Vec<String>> {
        let entries = fs::read_dir(path)?;
        let name = |entry: io::Result<DirEntry>| Ok(entry?.file_name().to_string_lossy().into());
        entries.map(name).collect()
    };
    let mut names = names().map_err(TrainError::io(path))?;
    names.retain(|name| !name.starts_with('.') && !name.ends_with(TEMPORARY_SUFFIX));
    match names.into_iter().min() {
        Some(file) => Err(TrainError::NotEmpty { path: path.to_owned(), file }),
        None => Ok(()),
    }
}

/// The state of the run in a folder. Reading it needs no lock, since it is replaced whole.
///
/// # Errors
///
/// [`TrainError::NoRun`] if there is none.
pub(crate) fn state_of_run(path: &Path) -> Result<PathBuf, TrainError> {
    let state = state_path(path);
    if state.exists() { Ok(state) } else { Err(TrainError::NoRun(path.to_owned())) }
}

fn state_path(path: &Path) -> PathBuf {
    path.join("training_state.safetensors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_training_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(RunFolder::resume(folder.path()), Err(TrainError::NoRun { .. })));
        let leftover = folder.path().join(format!("a{TEMPORARY_SUFFIX}"));
        fs::write(&leftover, "half").unwrap();
        let first = RunFolder::start(folder.path()).unwrap();
        assert!(!leftover.exists());
        assert!(RunFolder::is_free(folder.path()));
        assert!(matches!(RunFolder::start(folder.path()), Err(TrainError::Locked { .. })));
        fs::write(first.state_path(), "state").unwrap();
        assert!(!RunFolder::is_free(folder.path()));
        drop(first);
        assert!(matches!(RunFolder::start(folder.path()), Err(TrainError::RunExists { .. })));
        RunFolder::resume(folder.path()).unwrap();
    }

    #[test]
    fn only_a_new_or_empty_folder_is_free() {
        let top = tempfile::tempdir().unwrap();
        assert!(RunFolder::is_free(&top.path().join("new")));
        let files = [
            "model.safetensors",
            "config.json",
            "tokenizer.json",
            "pytorch_model.bin",
            "log.jsonl",
            "notes",
        ];
        for file in files {
            let folder = top.path().join(format!("with {file}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(".hidden"), "").unwrap();
            assert!(RunFolder::is_free(&folder), "{file}");
            let path = folder.join(file);
            fs::write(&path, "theirs").unwrap();
            assert!(!RunFolder::is_free(&folder), "{file}");
            assert!(!RunFolder::is_free(&path), "{file}: no folder");
            let error = RunFolder::start(&folder).unwrap_err();
            assert!(
                matches!(&error, TrainError::NotEmpty { file: found, .. } if found == file),
                "{error}"
            );
            assert_eq!(fs::read(&path).unwrap(), b"theirs");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "{file}");
        }
    }
}
