//! The state of the source tree at the time of a run.

use std::process::{Command, Stdio};

use tang_lab::Commit;

/// Asks git about the folder of the source. `None` where it is gone, or belongs to no repository,
/// or there is no git.
pub fn source_commit() -> Option<Commit> {
    let id = git(&["rev-parse", "--short=12", "HEAD"])?;
    let status = git(&["status", "--porcelain"])?;
    Some(Commit {
        id: id.trim().to_owned(),
        modified: !status.is_empty(),
    })
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // A checkout may belong to another user than the one who measures; and no lock is taken.
        .args(["-c", "safe.directory=*", "--no-optional-locks"])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then_some(())?;
    String::from_utf8(output.stdout).ok()
}
