//! The workspace on disk: its root and the files that belong to it.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result};

use crate::process;

/// The root of the workspace: the folder above this package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies in a folder of the workspace")
}

/// Every file that git tracks or would track, as a path from the root with `/` between its parts.
pub fn files() -> Result<BTreeSet<String>> {
    let mut git = process::command("git");
    // A checkout may belong to another user than the one who checks it.
    git.args(["-c", "safe.directory=*", "ls-files", "-z"]);
    git.args(["--cached", "--others", "--exclude-standard"]);
    let listing = process::output(&mut git)?;
    Ok(listing
        .split_terminator('\0')
        // A tracked file that was deleted is still listed.
        .filter(|path| root().join(path).is_file())
        .map(str::to_owned)
        .collect())
}

/// The text of a file of the workspace; `path` counts from the root.
pub fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}
