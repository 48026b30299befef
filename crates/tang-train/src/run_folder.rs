//! The folder that one training run writes to.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tang_files::{FolderLock, TEMPORARY_SUFFIX, remove_leftovers};

use crate::TrainError;

/// A folder that this process alone trains into.
///
/// It holds the best model so far (a checkpoint folder with its vocabulary), the training state of
/// the last save, and the log. A run begins in a new or empty folder, so it never replaces a file of
/// somebody else; in its own folder it replaces a link by a file, and what the link led to stays.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: FolderLock,
}

impl RunFolder {
    /// Creates the folder if need be and takes it.
    ///
    /// # Errors
    ///
    /// [`TrainError::RunExists`] if a run has left its state there, [`TrainError::NotEmpty`] if it holds
    /// other files, and then nothing is touched; [`TrainError::Locked`] if another process trains
    /// into it.
    pub(crate) fn start(path: &Path) -> Result<Self, TrainError> {
        if path.exists() && !state_path(path).exists() {
            check_free(path)?;
        }
        fs::create_dir_all(path).map_err(TrainError::io(path))?;
        let folder = Self::take(path)?;
        // A run that holds the folder is told of before one that is over, and that may have begun just now.
        check_free(path)?;
        Ok(folder)
    }

    /// Takes a folder in which a run has left its state.
    ///
    /// # Errors
    ///
    /// [`TrainError::NoRun`] if there is none, [`TrainError::Locked`] if another process trains
    /// into it.
    pub fn resume(path: &Path) -> Result<Self, TrainError> {
        state_of_run(path)?;
        Self::take(path)
    }

    /// Whether a run could start in the folder `path`, which need not exist.
    pub fn is_free(path: &Path) -> bool {
        !path.exists() || check_free(path).is_ok()
    }

    fn take(path: &Path) -> Result<Self, TrainError> {
        let lock = FolderLock::take(path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => TrainError::Locked {
                path: path.to_owned(),
            },
            _ => TrainError::Io {
                path: path.join(".lock"),
                source: error,
            },
        })?;
        remove_leftovers(path).map_err(TrainError::io(path))?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file with weights, moments and step of the last save.
    pub(crate) fn state_path(&self) -> PathBuf {
        state_path(&self.path)
    }

    /// The log, one JSON object a line.
    pub fn log_path(&self) -> PathBuf {
        self.path.join("log.jsonl")
    }
}

/// Checks that a run may begin in a folder: that it holds nothing but hidden files, such as the lock, and
/// what a killed run left half written.
fn check_free(path: &Path) -> Result<(), TrainError> {
    if state_path(path).exists() {
        return Err(TrainError::RunExists {
            path: path.to_owned(),
        });
    }
    let entries = fs::read_dir(path).map_err(TrainError::io(path))?;
    let names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<String>>>()
        .map_err(TrainError::io(path))?;
    let others = names
        .into_iter()
        .filter(|name| !name.starts_with('.') && !name.ends_with(TEMPORARY_SUFFIX));
    match others.min() {
        Some(file) => Err(TrainError::NotEmpty {
            path: path.to_owned(),
            file,
        }),
        None => Ok(()),
    }
}

/// The state of the run in a folder. Whoever only reads it needs no lock, as it is replaced whole.
///
/// # Errors
///
/// [`TrainError::NoRun`] if there is none.
pub(crate) fn state_of_run(path: &Path) -> Result<PathBuf, TrainError> {
    let state = state_path(path);
    match state.exists() {
        true => Ok(state),
        false => Err(TrainError::NoRun {
            path: path.to_owned(),
        }),
    }
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
        assert!(matches!(
            RunFolder::resume(folder.path()),
            Err(TrainError::NoRun { .. })
        ));
        let leftover = folder.path().join(format!("a{TEMPORARY_SUFFIX}"));
        fs::write(&leftover, "half").unwrap();
        let first = RunFolder::start(folder.path()).unwrap();
        assert!(!leftover.exists());
        assert!(RunFolder::is_free(folder.path()));
        assert!(matches!(
            RunFolder::start(folder.path()),
            Err(TrainError::Locked { .. })
        ));
        fs::write(first.state_path(), "state").unwrap();
        assert!(!RunFolder::is_free(folder.path()));
        drop(first);
        assert!(matches!(
            RunFolder::start(folder.path()),
            Err(TrainError::RunExists { .. })
        ));
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
