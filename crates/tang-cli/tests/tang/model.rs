//! A model that was trained for a moment, for all tests that need one.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use tempfile::TempDir;

use crate::work::{SAMPLE, run, tang};

/// The folder of the model, which nobody may change.
///
/// It is trained by the first test that asks, each test being a process of its own, and again
/// when the program was built anew.
pub fn model() -> String {
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let built = fs::metadata(env!("CARGO_BIN_EXE_tang")).unwrap();
    let built = built.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
    let folder = shared.join(format!("model-{}", built.as_nanos()));

    let lock = File::create(shared.join("model.lock")).unwrap();
    lock.lock().unwrap();
    if !folder.exists() {
        remove_old_models(shared);
        let new = TempDir::new_in(shared).unwrap();
        let out = new.path().join("run");
        let words = ["train", "--steps", "10", "--corpus", SAMPLE, "--out"];
        let ended = run(tang(words).arg(&out));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        fs::rename(out, &folder).unwrap();
    }
    folder.into_os_string().into_string().unwrap()
}

fn remove_old_models(shared: &Path) {
    for entry in fs::read_dir(shared).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap().to_string_lossy().starts_with("model-") {
            fs::remove_dir_all(path).unwrap();
        }
    }
}

/// A copy of the model and its run, to change.
pub fn copied_model() -> TempDir {
    let copy = TempDir::new().unwrap();
    for entry in fs::read_dir(model()).unwrap() {
        let file: PathBuf = entry.unwrap().path();
        fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
    }
    copy
}

/// The path of a folder as an argument.
pub fn argument(folder: &TempDir) -> &str {
    folder.path().to_str().unwrap()
}
