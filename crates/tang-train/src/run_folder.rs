//! The folder that one training run writes to.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use tang_files::TEMPORARY_SUFFIX;
use tang_model::WEIGHTS_FILE;

use crate::TrainError;

/// A folder that this process alone trains into.
///
/// It holds the best model so far (a checkpoint folder with its vocabulary), the training state of
/// the last save, and the log. The lock is the operating system's: it ends with the process,
/// however that ends.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// Creates the folder if need be and takes it.
    ///
    /// # Errors
    ///
    /// [`TrainError::RunExists`] if a run has left its state or a model there,
    /// [`TrainError::Locked`] if another process trains into it.
    pub(crate) fn start(path: &Path) -> Result<Self, TrainError> {
        let folder = Self::take(path)?;
        if holds_run(path) {
            return Err(TrainError::RunExists {
                path: path.to_owned(),
            });
        }
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
        !holds_run(path) && (path.is_dir() || !path.exists())
    }

    fn take(path: &Path) -> Result<Self, TrainError> {
        fs::create_dir_all(path).map_err(TrainError::io(path))?;
        let lock_path = path.join(".lock");
        let lock = File::create(&lock_path).map_err(TrainError::io(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {
                remove_leftovers(path).map_err(TrainError::io(path))?;
                Ok(Self {
                    path: path.to_owned(),
                    _lock: lock,
                })
            }
            Err(TryLockError::WouldBlock) => Err(TrainError::Locked {
                path: path.to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(TrainError::Io {
                path: lock_path,
                source,
            }),
        }
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

/// Deletes temporary files that a killed run left. Nobody else trains here while the lock is held; but a
/// report that is written takes no lock, and may rename its temporary file meanwhile.
fn remove_leftovers(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        if !file.to_string_lossy().ends_with(TEMPORARY_SUFFIX) {
            continue;
        }
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a run has left its state or a model in a folder.
fn holds_run(path: &Path) -> bool {
    state_path(path).exists() || path.join(WEIGHTS_FILE).exists()
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
    fn a_model_is_not_trained_over() {
        let folder = tempfile::tempdir().unwrap();
        let weights = folder.path().join(WEIGHTS_FILE);
        fs::write(&weights, "weights").unwrap();
        assert!(!RunFolder::is_free(folder.path()));
        assert!(!RunFolder::is_free(&weights), "a file");
        assert!(RunFolder::is_free(&folder.path().join("new")));
        assert!(matches!(
            RunFolder::start(folder.path()),
            Err(TrainError::RunExists { .. })
        ));
    }
}
