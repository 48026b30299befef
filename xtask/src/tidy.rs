//! `cargo xtask tidy`: the rules of the code base that neither the compiler nor clippy can check.
//!
//! Each check is a pure function from the text of a file to its findings: lines `path:line: message`.

use anyhow::{Context, Result, ensure};

use crate::{process, workspace};

mod comments;
mod links;
mod packages;
mod source;
mod words;

/// Prints every finding.
///
/// # Errors
///
/// If there is one, or if a file cannot be read.
pub fn run() -> Result<()> {
    let files = workspace::files()?;
    let mut findings = Vec::new();
    for path in &files {
        if path.ends_with(".rs") {
            findings.extend(check_source(path, &workspace::read(path)?));
        } else if path.ends_with(".md") {
            findings.extend(links::check(path, &workspace::read(path)?, &files));
        } else if path.ends_with("/Cargo.toml") {
            findings.extend(packages::own_versions(path, &workspace::read(path)?));
        }
    }
    let metadata = ["metadata", "--no-deps", "--format-version", "1"];
    let metadata = process::output(process::cargo().args(metadata))?;
    let metadata = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
    findings.extend(packages::layers(&metadata, &workspace::read("ARCHITECTURE.md")?));
    findings.extend(packages::unused(&metadata, &workspace::read("Cargo.toml")?));
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "tidy: {} findings", findings.len());
    Ok(())
}

fn check_source(path: &str, text: &str) -> Vec<String> {
    let mut findings = source::check(path, text);
    findings.extend(words::check(path, text));
    findings.extend(comments::check(path, text));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_of_a_source_file_runs() {
        let text = "//! Doc.\nfn f() {\n    Device::default() /\u{2f} Of note.\n}\n";
        let findings = check_source("crates/a/src/lib.rs", text);
        assert_eq!(findings.len(), 4, "{findings:?}");
        assert!(findings[0].starts_with("crates/a/src/lib.rs:2: "));
        assert!(check_source("crates/a/src/lib.rs", "//! Doc.\nmod a;\n").is_empty());
    }
}
