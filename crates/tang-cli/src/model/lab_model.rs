//! A model to measure.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use tang_files::escape_value;
use tang_lab::LabModel;

use super::{LoadedModel, embedded_model::EMBEDDED};
use crate::{
    args::{CheckpointArgs, Place},
    output::note,
};

/// Opens a model to measure, named after its folder.
///
/// # Errors
///
/// Those of [`CheckpointArgs::open`].
pub fn open_lab_model(checkpoint: &CheckpointArgs) -> Result<LabModel> {
    open(checkpoint.checkpoint.as_deref(), &checkpoint.device.place()?)
}

/// Opens models to measure, each with a name of its own.
///
/// # Errors
///
/// Those of [`LoadedModel::open`], or if two have one name.
pub fn open_lab_models(checkpoints: &[PathBuf], place: &Place) -> Result<Vec<LabModel>> {
    let mut labs: Vec<LabModel> = Vec::new();
    for checkpoint in checkpoints {
        let lab = open(Some(checkpoint), place)?;
        ensure!(
            labs.iter().all(|other| other.name != lab.name),
            "two of the models are called {}, and so would be their plots: \
             give each folder once, and rename one of two with the same name",
            lab.name
        );
        labs.push(lab);
    }
    Ok(labs)
}

fn open(checkpoint: Option<&Path>, place: &Place) -> Result<LabModel> {
    let LoadedModel { model, threads, vocabulary } = LoadedModel::open(checkpoint, place)?;
    Ok(LabModel {
        is_exact: matches!(place, Place::Cpu(_)),
        on_progress: Arc::new(|text| note(text)),
        model,
        threads,
        vocabulary,
        name: match checkpoint {
            Some(folder) => folder_name(folder)?,
            None => EMBEDDED.to_owned(),
        },
    })
}

/// The last part of a folder's path, escaped for a report. Reports are published, so the rest of
/// the path is left out.
fn folder_name(folder: &Path) -> Result<String> {
    let whole =
        fs::canonicalize(folder).with_context(|| format!("cannot find {}", folder.display()))?;
    let name = whole.file_name().unwrap_or(whole.as_os_str());
    Ok(escape_value(&name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_without_the_way_to_it() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("tang-4l");
        fs::create_dir_all(folder.join("inner")).unwrap();
        for path in [&folder, &folder.join(""), &folder.join("inner/..")] {
            assert_eq!(folder_name(path).unwrap(), "tang-4l", "{}", path.display());
        }
    }
}
