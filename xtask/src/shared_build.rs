//! Check that one build of Burn serves the tests and the program.
//!
//! Cargo joins the features of all packages that it builds together. If a package of the workspace
//! asks for one feature more of a crate below Burn, `cargo build -p tang-cli` after the tests
//! compiles Burn a second time, which takes minutes.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use crate::process;

/// Compares the crates that the workspace builds with those that `tang-cli` builds; for GPUs, those that
/// are built where no package is named.
///
/// # Errors
///
/// If a crate below Burn has other features in one than in the other.
pub fn run() -> Result<()> {
    compare(&["--workspace"], &[])?;
    compare(&[], &["--features", "wgpu"])
}

fn compare(all: &[&str], features: &[&str]) -> Result<()> {
    let format = ["--format", "{p} {f}"];
    let workspace = tree(&[all, features, &format].concat())?;
    let program = ["-p", "tang-cli", "-e", "no-dev"];
    let program = tree(&[&program, features, &format].concat())?;
    // The package that hands its features on to Burn.
    let model = ["-p", "tang-model", "-e", "no-dev", "--format", "{p}"];
    let below_burn = tree(&[&model, features].concat())?;
    let twice = built_twice(&workspace, &program, &below_burn);
    ensure!(
        twice.is_empty(),
        "`cargo build -p tang-cli` would compile Burn again after the tests, because these crates \
         below it have other features there:\n{}\nFind who asks for them with `cargo tree -e \
         features -i CRATE`; drop that dependency, or the features that it adds.",
        twice.join("\n")
    );
    Ok(())
}

fn tree(arguments: &[&str]) -> Result<String> {
    process::output(
        process::cargo()
            .args(["tree", "--prefix", "none"])
            .args(arguments),
    )
}

/// The lines `crate version features` of `program` that `workspace` lacks, for crates below Burn.
fn built_twice(workspace: &str, program: &str, below_burn: &str) -> Vec<String> {
    let below_burn = lines(below_burn);
    lines(program)
        .difference(&lines(workspace))
        .filter(|line| {
            let (krate, _features) = line.rsplit_once(' ').unwrap_or((line, ""));
            below_burn.contains(krate)
        })
        .map(|line| format!("  {line}"))
        .collect()
}

/// The lines of a tree without the mark of a subtree that was printed before.
fn lines(tree: &str) -> BTreeSet<&str> {
    tree.lines()
        .map(|line| line.strip_suffix(" (*)").unwrap_or(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURN: &str = "burn v1.0.0\nregex v2.0.0\nderive v3.0.0 (proc-macro)";

    #[test]
    fn one_feature_more_in_the_workspace_is_found() {
        let workspace = "burn v1.0.0 std\nregex v2.0.0 search,std";
        let program = "burn v1.0.0 std\nregex v2.0.0 std (*)";
        assert_eq!(
            built_twice(workspace, program, BURN),
            ["  regex v2.0.0 std"]
        );
    }

    #[test]
    fn crates_beside_burn_may_differ() {
        let workspace = "burn v1.0.0 std (*)\nderive v3.0.0 (proc-macro) \nclap v4.0.0 std,wrap";
        let program = "burn v1.0.0 std\nderive v3.0.0 (proc-macro) \nclap v4.0.0 std";
        assert!(built_twice(workspace, program, BURN).is_empty());
    }
}
