//! The arrows between the packages of the workspace, and which of them build on Burn.

use super::{Finding, manifest::Manifest};

/// Each package with the packages that its `[dependencies]` may name.
const LAYERS: [(&str, &[&str]); 13] = [
    ("tang-files", &[]),
    ("tang-kernels", &[]),
    ("tang-prosody", &[]),
    ("tang-tokenizer", &["tang-files", "tang-prosody"]),
    (
        "tang-corpus",
        &["tang-files", "tang-prosody", "tang-tokenizer"],
    ),
    ("tang-checkpoint", &["tang-files"]),
    (
        "tang-engine",
        &["tang-checkpoint", "tang-kernels", "tang-tokenizer"],
    ),
    (
        "tang-model",
        &[
            "tang-checkpoint",
            "tang-engine",
            "tang-kernels",
            "tang-tokenizer",
        ],
    ),
    (
        "tang-train",
        &[
            "tang-checkpoint",
            "tang-corpus",
            "tang-engine",
            "tang-files",
            "tang-kernels",
            "tang-model",
            "tang-tokenizer",
        ],
    ),
    (
        "tang-generate",
        &[
            "tang-engine",
            "tang-kernels",
            "tang-prosody",
            "tang-tokenizer",
        ],
    ),
    (
        "tang-lab",
        &[
            "tang-checkpoint",
            "tang-corpus",
            "tang-engine",
            "tang-files",
            "tang-generate",
            "tang-kernels",
            "tang-model",
            "tang-prosody",
            "tang-tokenizer",
            "tang-train",
        ],
    ),
    (
        "tang-cli",
        &[
            "tang-checkpoint",
            "tang-corpus",
            "tang-engine",
            "tang-files",
            "tang-generate",
            "tang-lab",
            "tang-model",
            "tang-prosody",
            "tang-tokenizer",
            "tang-train",
        ],
    ),
    ("xtask", &[]),
];

const ON_BURN: [&str; 3] = ["tang-lab", "tang-model", "tang-train"];

const TABLE: &str = "xtask/src/tidy/layers.rs";

/// Finds packages that the table lacks and dependencies that point the wrong way.
pub fn check(member: &Manifest) -> Vec<Finding> {
    let Some(package) = &member.package else {
        return Vec::new();
    };
    let finding = |line, message| Finding::new(&member.path, line, message);
    let Some(below) = below(&package.text) else {
        let message = format!(
            "`{}` has no layer; add it to the table in {TABLE}",
            package.text
        );
        return vec![finding(package.line, message)];
    };
    let mut findings = Vec::new();
    for dependency in &member.dependencies {
        let name = &dependency.name;
        let on_workspace = name.text.starts_with("tang-") || self::below(&name.text).is_some();
        // Tests may look up from a lower layer.
        if on_workspace && dependency.is_normal && !below.contains(&name.text.as_str()) {
            let message = format!(
                "`{}` may depend on [{}] of this workspace, not on `{}`; move the code that needs \
                 it to a higher layer (the table is in {TABLE})",
                package.text,
                below.join(", "),
                name.text
            );
            findings.push(finding(name.line, message));
        }
        let is_burn = name.text == "burn" || name.text.starts_with("burn-");
        if is_burn && !ON_BURN.contains(&package.text.as_str()) {
            let message = format!(
                "only [{}] build on Burn, not `{}`; use what they export",
                ON_BURN.join(", "),
                package.text
            );
            findings.push(finding(name.line, message));
        }
    }
    findings
}

fn below(package: &str) -> Option<&'static [&'static str]> {
    LAYERS
        .iter()
        .find(|(name, _)| *name == package)
        .map(|(_, below)| *below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(package: &str, table: &str, dependency: &str) -> Vec<String> {
        let text =
            format!("[package]\nname = \"{package}\"\n[{table}]\n{dependency}.workspace = true\n");
        let path = format!("crates/{package}/Cargo.toml");
        check(&Manifest::parse(&path, &text).unwrap())
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn an_arrow_points_down_or_is_found() {
        for (package, below) in LAYERS {
            for (other, _) in LAYERS {
                let found = messages(package, "dependencies", other);
                assert_eq!(
                    found.is_empty(),
                    below.contains(&other),
                    "{package} -> {other}"
                );
            }
        }
    }

    #[test]
    fn the_table_has_no_circle() {
        for (index, (package, below)) in LAYERS.iter().enumerate() {
            for name in *below {
                let place = LAYERS.iter().position(|(other, _)| other == name);
                assert!(
                    place.is_some_and(|place| place < index),
                    "{package} -> {name}"
                );
            }
        }
    }

    #[test]
    fn tests_may_look_up() {
        assert!(messages("tang-model", "dev-dependencies", "tang-tokenizer").is_empty());
    }

    #[test]
    fn packages_from_elsewhere_may_be_used() {
        assert!(messages("tang-prosody", "dependencies", "thiserror").is_empty());
    }

    #[test]
    fn a_package_without_a_layer_is_found() {
        assert_eq!(
            messages("tang-new", "dependencies", "serde"),
            [format!(
                "crates/tang-new/Cargo.toml:2: `tang-new` has no layer; add it to the table in {TABLE}"
            )]
        );
        assert_eq!(messages("tang-cli", "dependencies", "tang-new").len(), 1);
    }

    #[test]
    fn burn_is_kept_to_its_layers() {
        for (package, _) in LAYERS {
            for table in ["dependencies", "dev-dependencies"] {
                let found = messages(package, table, "burn");
                assert_eq!(found.is_empty(), ON_BURN.contains(&package), "{package}");
            }
        }
        assert_eq!(messages("tang-cli", "dependencies", "burn-flex").len(), 1);
    }
}
