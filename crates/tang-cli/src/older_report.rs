//! Files that a new report would replace: only an older report's.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tang_files::read_bounded;
use tang_lab::REPORT_SECTION;

/// Checks that a `report.md` is missing, or is one of `tang report`.
///
/// # Errors
///
/// If it is another one, or cannot be read.
pub fn check_report(path: &Path) -> Result<()> {
    let Some(bytes) = read_if_file(path)? else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(&bytes);
    is_older(path, text.lines().any(|line| line == REPORT_SECTION))
}

/// Checks that what a measurement writes into a folder replaces an older measurement, which has left its
/// `report.json`, or nothing.
///
/// # Errors
///
/// If the folder has another `report.json`, or a page or a picture without one, or cannot be read.
pub fn check_measurement(folder: &Path) -> Result<()> {
    let json = folder.join("report.json");
    if let Some(bytes) = read_if_file(&json)? {
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        return is_older(&json, value.get("provenance").is_some());
    }
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let is_page = path.file_name().is_some_and(|name| name == "report.md");
        let is_picture = path.extension().is_some_and(|end| end == "svg");
        is_older(&path, !is_page && !is_picture)?;
    }
    Ok(())
}

fn is_older(path: &Path, is_older: bool) -> Result<()> {
    ensure!(
        is_older,
        "{} is there already, and no such measurement has written it: move it away, or use another folder",
        path.display()
    );
    Ok(())
}

/// What a file holds, if it is one: nothing else can be replaced.
fn read_if_file(path: &Path) -> Result<Option<Vec<u8>>> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read_bounded(path);
    let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_older_reports_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let measurement = || check_measurement(folder.path());
        assert!(check_report(&file("report.md")).is_ok());
        fs::write(file("config.json"), "{}").unwrap();
        measurement().unwrap();

        fs::write(file("report.md"), "# Our annual report\n").unwrap();
        for error in [measurement(), check_report(&file("report.md"))] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("report.md is there already"), "{error}");
        }
        fs::write(file("report.md"), format!("# a\n\n{REPORT_SECTION}\n")).unwrap();
        check_report(&file("report.md")).unwrap();
        fs::remove_file(file("report.md")).unwrap();

        fs::write(file("loss.svg"), "<svg/>").unwrap();
        let error = measurement().unwrap_err().to_string();
        assert!(error.contains("loss.svg is there already"), "{error}");
        for (json, is_ours) in [
            ("{\"provenance\": {}}", true),
            ("{\"accuracy\": 1}", false),
            ("[]", false),
            ("", false),
        ] {
            fs::write(file("report.json"), json).unwrap();
            assert_eq!(measurement().is_ok(), is_ours, "{json}");
        }
    }
}
