//! A model to measure.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use tang_lab::LabModel;

use crate::loaded_model::{CheckpointArgs, LoadedModel};

/// Opens a model to measure, named after its folder.
///
/// # Errors
///
/// Those of [`CheckpointArgs::open`].
pub fn open_lab_model(checkpoint: &CheckpointArgs) -> Result<LabModel> {
    let LoadedModel { model, vocabulary } = checkpoint.open()?;
    Ok(LabModel {
        model,
        vocabulary,
        name: folder_name(&checkpoint.checkpoint)?,
    })
}

/// The last part of a folder's path: reports are published, and the rest is this machine's affair.
fn folder_name(folder: &Path) -> Result<String> {
    let whole =
        fs::canonicalize(folder).with_context(|| format!("cannot find {}", folder.display()))?;
    let name = whole.file_name().unwrap_or(whole.as_os_str());
    Ok(name.to_string_lossy().into_owned())
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
