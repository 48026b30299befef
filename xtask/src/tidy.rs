//! `cargo xtask tidy`: check what holds the code base together.
//!
//! Every check is a pure function over the text of a file; this module only feeds them.

use std::fmt;

use anyhow::{Result, ensure};

use crate::{tidy::manifest::Manifest, workspace};

mod file_form;
mod inheritance;
mod layers;
mod lib_root;
mod links;
mod manifest;
mod tokens;
mod words;

/// One thing that is wrong, where it is and what to do about it.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    /// `line` counts from 1.
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Prints every finding.
///
/// # Errors
///
/// If there is one, or if a file cannot be read.
pub fn run() -> Result<()> {
    let files = workspace::files()?;
    let mut findings = Vec::new();
    let mut root = None;
    let mut members = Vec::new();
    for path in &files {
        if path.ends_with(".rs") {
            findings.extend(check_source(path, &workspace::read(path)?));
        } else if path.ends_with(".md") {
            findings.extend(links::check(path, &workspace::read(path)?, &files));
        } else if path == "Cargo.toml" || path.ends_with("/Cargo.toml") {
            match Manifest::parse(path, &workspace::read(path)?) {
                Ok(manifest) if path == "Cargo.toml" => root = Some(manifest),
                Ok(manifest) => members.push(manifest),
                Err(finding) => findings.push(finding),
            }
        }
    }
    for member in &members {
        findings.extend(inheritance::check(member));
        findings.extend(layers::check(member));
    }
    if let Some(root) = &root {
        findings.extend(inheritance::unused(root, &members));
    }

    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "tidy: {} findings", findings.len());
    Ok(())
}

fn check_source(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = file_form::check(path, text);
    match text.parse() {
        Ok(stream) => {
            findings.extend(words::check(path, tokens::flatten(&stream)));
            if path.ends_with("/lib.rs") {
                findings.extend(lib_root::check(path, stream));
            }
        }
        Err(error) => findings.push(Finding::new(
            path,
            error.span().start().line,
            "this is not Rust; see what the compiler says",
        )),
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_like_a_message_of_the_compiler() {
        let finding = Finding::new("a/b.rs", 7, "wrong; mend it");
        assert_eq!(finding.to_string(), "a/b.rs:7: wrong; mend it");
    }

    #[test]
    fn every_check_of_a_source_file_runs() {
        let text = "//! Doc.\nfn f() { dbg!(1) }\n";
        let lines: Vec<_> = check_source("crates/a/src/lib.rs", text)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(check_source("crates/a/src/lib.rs", "").len() == 1);
        assert!(check_source("crates/a/src/lib.rs", "//! Doc.\nmod a;\n").is_empty());
    }

    #[test]
    fn a_file_that_is_not_rust_is_found() {
        let findings = check_source("a.rs", "//! Doc.\nfn f( {\n");
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].message,
            "this is not Rust; see what the compiler says"
        );
    }
}
