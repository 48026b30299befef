//! The packages of the workspace: their names, the arrows between them, who builds on Burn, and versions in the
//! workspace manifest only.

use serde_json::Value;

const PAGE: &str = "ARCHITECTURE.md";

/// A row of the table of [`PAGE`].
struct Layer<'a> {
    package: &'a str,
    may_use: Vec<&'a str>,
    on_burn: bool,
}

/// Reads the rows `| package | may use | Burn |`, from the lowest to the highest.
fn table(page: &str) -> Vec<Layer<'_>> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| crate | may use |"));
    rows.skip(2)
        .map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .filter_map(|row| {
            let mut cells = row.split(" | ");
            Some(Layer {
                package: cells.next()?,
                may_use: cells.next()?.split(", ").collect(),
                on_burn: cells.next()? != "no",
            })
        })
        .collect()
}

/// Finds packages that are not called like their folder or have no row in the table, and dependencies that the
/// row does not name. Tests may use any package of the workspace.
pub fn layers(metadata: &Value, page: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let layers = table(page);
    let row = |name: &str| layers.iter().position(|layer| layer.package == name);
    for package in list(metadata, "packages") {
        let (name, path) = (text(package, "name"), text(package, "manifest_path"));
        let mut find = |message| findings.push(format!("{path}:1: {message}"));
        if path.rsplit('/').nth(1) != Some(name) {
            find(format!("the folder of `{name}` has another name; rename one"));
        }
        let Some(index) = row(name) else {
            find(format!("`{name}` has no row in the table of {PAGE}; add it"));
            continue;
        };
        for dependency in list(package, "dependencies") {
            let other = text(dependency, "name");
            let short = other.strip_prefix("tang-").unwrap_or(other);
            let is_named = layers[index].may_use.contains(&short) && row(other) < Some(index);
            if dependency["path"].is_string() && dependency["kind"].is_null() && !is_named {
                find(format!("`{name}` may not use `{other}` by the table of {PAGE}"));
            }
            let is_burn = other == "burn" || other.starts_with("burn-");
            if is_burn && !layers[index].on_burn {
                find(format!("`{name}` may not use Burn by the table of {PAGE}"));
            }
        }
    }
    findings
}

/// Finds entries of the `[workspace.dependencies]` in `manifest` that no member uses.
pub fn unused(metadata: &Value, manifest: &str) -> Vec<String> {
    let used: Vec<&str> = list(metadata, "packages")
        .flat_map(|package| list(package, "dependencies"))
        .map(|dependency| text(dependency, "name"))
        .collect();
    entries(manifest)
        .filter(|(_, line)| !used.contains(&key(line)))
        .map(|(number, line)| {
            format!("Cargo.toml:{number}: no member uses `{}`; delete it", key(line))
        })
        .collect()
}

/// Finds dependencies of a member's manifest with a version or path of their own.
pub fn own_versions(path: &str, manifest: &str) -> Vec<String> {
    entries(manifest)
        .filter(|(_, line)| !line.contains("workspace = true"))
        .map(|(number, line)| {
            let advice =
                "state its source in the manifest of the workspace, and here `workspace = true`";
            format!("{path}:{number}: `{}`: {advice}", key(line))
        })
        .collect()
}

/// The lines of a manifest that state a dependency, each with its number.
fn entries(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_inside = false;
    (1..).zip(manifest.lines()).filter(move |(_, line)| {
        if line.starts_with('[') {
            is_inside = line.contains("dependencies");
        }
        is_inside && !line.starts_with(['[', '#', ' ']) && line.contains('=')
    })
}

fn key(line: &str) -> &str {
    line.split([' ', '.', '=']).next().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: &str = "# Page\n\n| crate | may use | Burn |\n|---|---|---|\n| tang-a | c | no |\n\
                         | tang-b | a | yes |\n| tang-c | a, b | with `train` |\n\nText\n";

    fn findings(package: &str, dependency: &str, kind: Option<&str>) -> Vec<String> {
        let path = dependency.starts_with("tang-").then_some("/there");
        let metadata = json!({"packages": [{
            "name": package,
            "manifest_path": format!("crates/{package}/Cargo.toml"),
            "dependencies": [{"name": dependency, "kind": kind, "path": path}],
        }]});
        layers(&metadata, TABLE)
    }

    #[test]
    fn an_arrow_is_in_the_table_or_found() {
        for (package, dependency, allowed) in [
            ("tang-b", "tang-a", true),
            ("tang-c", "tang-b", true),
            ("tang-a", "tang-b", false),
            ("tang-b", "tang-b", false),
            ("tang-b", "tang-new", false),
            ("tang-a", "serde", true),
            ("tang-new", "serde", false),
            ("tang-a", "burn", false),
            ("tang-a", "burn-flex", false),
            ("tang-b", "burn", true),
            ("tang-c", "burn", true),
        ] {
            let found = findings(package, dependency, None);
            assert_eq!(found.is_empty(), allowed, "{package} {found:?}");
        }
        // A row may name only rows above it.
        assert_eq!(findings("tang-a", "tang-c", None).len(), 1);
        assert!(findings("tang-a", "tang-b", Some("dev")).is_empty());
        assert_eq!(findings("tang-a", "burn", Some("dev")).len(), 1);
    }

    #[test]
    fn a_package_in_another_folder_is_found() {
        let metadata =
            json!({"packages": [{"name": "tang-a", "manifest_path": "crates/tang-b/Cargo.toml"}]});
        assert_eq!(layers(&metadata, TABLE).len(), 1);
    }

    #[test]
    fn a_version_outside_the_root_is_found() {
        for table in ["dependencies", "build-dependencies", "target.'cfg(unix)'.dev-dependencies"] {
            for source in ["b = \"1\"", "b = { version = \"1\" }", "b.path = \"../b\""] {
                let text =
                    format!("[package]\nname = \"a\"\n[{table}]\na.workspace = true\n{source}\n");
                let found = own_versions("a/Cargo.toml", &text);
                assert_eq!(found.len(), 1, "{text}");
                assert!(found[0].starts_with("a/Cargo.toml:5: `b`: "), "{found:?}");
            }
        }
    }

    #[test]
    fn a_shared_dependency_that_nobody_uses_is_found() {
        let metadata = json!({"packages": [{"dependencies": [{"name": "b"}, {"name": "c-d"}]}]});
        let text = "[workspace.dependencies]\nb = \"1\"\nd = { path = \"d\" }\nc-d = \"1\"\n";
        let wanted = ["Cargo.toml:3: no member uses `d`; delete it"];
        assert_eq!(unused(&metadata, text), wanted);
    }
}
