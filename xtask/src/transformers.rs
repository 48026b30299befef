//! A check that Hugging Face transformers reads the committed checkpoints as `tang` does.

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::Result;

use crate::{process, workspace};

const VENV: &str = ".venv-hf";
/// The Python of the virtual environment, relative to the root.
pub const PYTHON: &str = ".venv-hf/bin/python";
const REQUIREMENTS: &str = "scripts/requirements.txt";

/// Runs `scripts/check_hf.py` on every committed checkpoint, in a virtual environment of its own.
/// Without a checkpoint, Python, or its packages the check is skipped and says so.
///
/// # Errors
///
/// If transformers disagrees.
pub fn check() -> Result<()> {
    let files = workspace::files()?;
    let checkpoints = committed(&files);
    if checkpoints.is_empty() {
        eprintln!("ci: SKIPPED the check against transformers: no checkpoint is committed");
        return Ok(());
    }
    let Some(python) = python() else {
        return Ok(());
    };
    process::run(process::cargo().args(["build", "--release", "--package", "tang-cli"]))?;
    let mut script = process::command(python);
    script.arg("scripts/check_hf.py").args(checkpoints);
    process::run(&mut script)
}

/// The Python of the virtual environment, which is made first if it is missing.
fn python() -> Option<PathBuf> {
    let python = workspace::root().join(PYTHON);
    let run = |words: &[&str]| process::output(process::command(&python).args(words));
    let import = ["-c", "import torch, transformers"];
    if python.exists() && run(&import).is_ok() {
        return Some(python);
    }
    eprintln!("ci: making {VENV} with the packages of {REQUIREMENTS}");
    let made = process::run(process::command("python3").args(["-m", "venv", VENV]))
        .and_then(|()| run(&["-m", "pip", "install", "--quiet", "-r", REQUIREMENTS]))
        .and_then(|_| run(&import));
    if let Err(error) = made {
        eprintln!("ci: SKIPPED the check against transformers: {error:#}");
        return None;
    }
    Some(python)
}

/// The folders in `checkpoints` with weights among `files`.
fn committed(files: &BTreeSet<String>) -> Vec<&str> {
    files
        .iter()
        .filter(|path| path.starts_with("checkpoints/"))
        .filter_map(|path| path.strip_suffix("/model.safetensors"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_with_weights_are_checked() {
        let files = [
            "checkpoints/README.md",
            "checkpoints/a/config.json",
            "checkpoints/a/model.safetensors",
            "crates/b/tests/golden/c/model.safetensors",
        ];
        assert_eq!(committed(&files.map(str::to_owned).into()), ["checkpoints/a"]);
        assert!(committed(&BTreeSet::new()).is_empty());
    }
}
