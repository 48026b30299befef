//! The workspace on disk: its root and the files that belong to it.

use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use crate::process;

/// The root of the workspace: the folder above this package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is in a folder of the workspace")
}

/// The files that git tracks or would track, as paths relative to the root with `/` between their parts.
pub fn files() -> Result<BTreeSet<String>> {
    let words = ["--cached", "--others", "--exclude-standard"];
    let listing = process::output(git(&["ls-files", "-z"]).args(words))?;
    Ok(listing
        .split_terminator('\0')
        // A tracked file that was deleted is still listed.
        .filter(|path| root().join(path).is_file())
        .map(str::to_owned)
        .collect())
}

/// The commit of the source in the form that `tang` reads, followed by the word `modified` if files differ;
/// `None` without git or a repository.
pub fn commit() -> Option<String> {
    let asked = |words| {
        let answer = git(words).stderr(Stdio::null()).output().ok()?;
        answer.status.success().then_some(())?;
        String::from_utf8(answer.stdout).ok()
    };
    let commit = asked(&["rev-parse", "--short=12", "HEAD"])?;
    let files = asked(&["status", "--porcelain"])?;
    let modified = if files.is_empty() { "" } else { " modified" };
    Some(format!("{}{modified}", commit.trim()))
}

/// git in this checkout, which may belong to another user; so it runs no program that the checkout's settings
/// name, and takes no lock.
fn git(words: &[&str]) -> Command {
    let mut git = process::command("git");
    git.args(["--no-optional-locks", "-c", "safe.directory=*"])
        .args(["-c", "core.fsmonitor=false"])
        .args(words);
    git
}

/// The text of a file of the workspace; `path` is relative to the root.
pub fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_twelve_digits_or_more() {
        let Some(commit) = commit() else {
            return;
        };
        let id = commit.strip_suffix(" modified").unwrap_or(&commit);
        assert!(id.len() >= 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{commit}");
    }
}
