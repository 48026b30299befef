//! A check that one build of Burn serves the tests and the program.
//!
//! Cargo unites the features of all packages that it builds together. If a package of the workspace adds a
//! feature to a crate below Burn, `cargo build -p tang-cli` compiles Burn again after the tests, which takes
//! minutes.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use crate::process;

/// Compares the crates below `tang-cli`, each with its features, with those of the tests; with the feature `wgpu`,
/// with those of the default members.
///
/// # Errors
///
/// If a crate has other features.
pub fn check() -> Result<()> {
    compare("--workspace", "")?;
    compare("", "--features wgpu")
}

fn compare(packages: &str, features: &str) -> Result<()> {
    let tree = |options: &str| {
        let words = format!("tree --prefix none {features} {options}");
        let mut tree = process::cargo();
        process::output(tree.args(words.split_whitespace()).args(["-f", "{p} {f}"]))
    };
    let all = tree(packages)?;
    let program = tree("-p tang-cli -e no-dev")?;
    let twice: Vec<_> = lines(&program).difference(&lines(&all)).copied().collect();
    ensure!(
        twice.is_empty(),
        "`cargo build -p tang-cli` would compile Burn again after the tests, because these crates have other \
         features there:\n  {}\nFind who asks for them with `cargo tree -e features -i CRATE`; drop that \
         dependency, or the features that it adds.",
        twice.join("\n  ")
    );
    Ok(())
}

/// The lines `crate version features` of a tree, without the mark of a subtree that was printed before.
fn lines(tree: &str) -> BTreeSet<&str> {
    tree.lines().map(|line| line.strip_suffix(" (*)").unwrap_or(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_differs_by_its_features_and_not_by_its_mark() {
        let all = lines("burn v1.0.0 std (*)\nregex v2.0.0 search,std\nclap v4.0.0 std");
        let program = lines("regex v2.0.0 std (*)\nburn v1.0.0 std");
        let twice: Vec<_> = program.difference(&all).collect();
        assert_eq!(twice, [&"regex v2.0.0 std"]);
    }
}
