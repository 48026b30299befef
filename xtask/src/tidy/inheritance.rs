//! Names and versions: a package is called like its folder, and versions stand in the root.

use std::collections::BTreeSet;

use super::{Finding, manifest::Manifest};

/// Finds a package that is not called like its folder, and dependencies with a version of their own.
pub fn check(member: &Manifest) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folder = member.path.rsplit('/').nth(1).unwrap_or_default();
    match &member.package {
        Some(name) if name.text != folder => findings.push(Finding::new(
            &member.path,
            name.line,
            format!(
                "the package `{}` lies in the folder `{folder}`; rename one",
                name.text
            ),
        )),
        Some(_) => {}
        None => findings.push(Finding::new(
            &member.path,
            1,
            format!("no package name; add `name = \"{folder}\"` under [package]"),
        )),
    }
    for dependency in member.dependencies.iter().filter(|it| !it.is_inherited) {
        let name = &dependency.name;
        findings.push(Finding::new(
            &member.path,
            name.line,
            format!(
                "`{0}` has a source of its own; state it in [workspace.dependencies] of the root \
                 and write `{0}.workspace = true`",
                name.text
            ),
        ));
    }
    findings
}

/// Finds what the root offers in `[workspace.dependencies]` and no member takes.
pub fn unused(root: &Manifest, members: &[Manifest]) -> Vec<Finding> {
    let used: BTreeSet<_> = members
        .iter()
        .flat_map(|member| &member.dependencies)
        .map(|dependency| &dependency.name.text)
        .collect();
    root.shared
        .iter()
        .filter(|name| !used.contains(&name.text))
        .map(|name| {
            let message = format!("no member depends on `{}`; delete the entry", name.text);
            Finding::new(&root.path, name.line, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n\
                         [dev-dependencies]\nc = { workspace = true, optional = true }\n";

    fn member(text: &str) -> Manifest {
        Manifest::parse("crates/a/Cargo.toml", text).unwrap()
    }

    fn lines_of_findings(text: &str) -> Vec<usize> {
        let findings = check(&member(text));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_clean_manifest_passes() {
        assert!(lines_of_findings(CLEAN).is_empty());
    }

    #[test]
    fn a_package_called_otherwise_than_its_folder_is_found() {
        assert_eq!(lines_of_findings("[package]\nname = \"b\"\n"), [2]);
        assert_eq!(lines_of_findings("[dependencies]\n"), [1]);
    }

    #[test]
    fn a_version_outside_the_root_is_found() {
        for source in ["\"1\"", "{ version = \"1\" }", "{ path = \"../b\" }"] {
            for table in [
                "dependencies",
                "build-dependencies",
                "target.x.dependencies",
            ] {
                let text = format!("[package]\nname = \"a\"\n[{table}]\nb = {source}\n");
                assert_eq!(lines_of_findings(&text), [4], "{text}");
            }
        }
    }

    #[test]
    fn a_shared_dependency_that_nobody_takes_is_found() {
        let text = "[workspace.dependencies]\nb = \"1\"\nd = \"1\"\nc = \"1\"\n";
        let root = Manifest::parse("Cargo.toml", text).unwrap();
        let findings = unused(&root, &[member(CLEAN)]);
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].to_string(),
            "Cargo.toml:3: no member depends on `d`; delete the entry"
        );
    }
}
