//! Check that Hugging Face transformers reads the committed checkpoints as `tang` does.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{process, workspace};

const VENV: &str = ".venv-hf";
const REQUIREMENTS: &str = "scripts/requirements.txt";

/// Runs `scripts/check_hf.py` on every committed checkpoint, in a virtual environment of its own.
/// Where that cannot be made, for want of Python or of its packages, the check is skipped and
/// says so.
///
/// # Errors
/// If transformers disagrees.
pub fn run() -> Result<()> {
    let Some(python) = python() else {
        return Ok(());
    };
    process::run(process::cargo().args(["build", "--release", "--package", "tang-cli"]))?;
    let mut script = process::command(python);
    script.arg("scripts/check_hf.py").args(checkpoints()?);
    process::run(&mut script)
}

/// The Python of the virtual environment, made first if it is missing.
fn python() -> Option<PathBuf> {
    let python = workspace::root().join(VENV).join("bin/python");
    let importable = || {
        let mut import = process::command(&python);
        import.args(["-c", "import torch, transformers"]);
        process::output(&mut import)
    };
    if python.exists() && importable().is_ok() {
        return Some(python);
    }
    eprintln!("ci: making {VENV} with the packages of {REQUIREMENTS}");
    let made = process::run(process::command("python3").args(["-m", "venv", VENV]))
        .and_then(|()| {
            let pip = ["-m", "pip", "install", "--quiet", "-r", REQUIREMENTS];
            process::run(process::command(&python).args(pip))
        })
        .and_then(|()| importable());
    match made {
        Ok(_) => Some(python),
        Err(error) => {
            eprintln!("ci: SKIPPED the check against transformers: {error:#}");
            None
        }
    }
}

/// The folders below `checkpoints` whose weights belong to the repository.
fn checkpoints() -> Result<Vec<String>> {
    let folders: Vec<String> = workspace::files()?
        .into_iter()
        .filter_map(|path| {
            let folder = path.strip_suffix("/model.safetensors")?;
            folder
                .starts_with("checkpoints/")
                .then(|| folder.to_owned())
        })
        .collect();
    (!folders.is_empty())
        .then_some(folders)
        .context("no checkpoint is committed")
}
