//! A `Cargo.toml`: the parts of it that the checks look at.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::Finding;

/// A parsed manifest.
pub struct Manifest {
    /// From the root of the workspace.
    pub path: String,
    /// The package, unless this is the root of the workspace.
    pub package: Option<Name>,
    /// All that the package depends on.
    pub dependencies: Vec<Dependency>,
    /// What `[workspace.dependencies]` names.
    pub shared: Vec<Name>,
}

/// A name and its line, counted from 1.
pub struct Name {
    pub text: String,
    pub line: usize,
}

/// A dependency as the manifest states it.
pub struct Dependency {
    pub name: Name,
    /// Whether it stands in `[dependencies]`, so that the package itself needs it.
    pub is_normal: bool,
    /// Whether it says `workspace = true`.
    pub is_inherited: bool,
}

impl Manifest {
    /// Parses the text of a manifest.
    ///
    /// # Errors
    ///
    /// A finding if the text is not TOML.
    pub fn parse(path: &str, text: &str) -> Result<Self, Finding> {
        let document = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let message = format!("this is not TOML: {}; mend it", error.message());
            Finding::new(path, line(text, offset), message)
        })?;
        let document = document.get_ref();
        let package = table(document, "package").and_then(|package| package.get("name"));
        let mut dependencies = dependencies(document, text);
        for target in entries(document, "target") {
            if let Some(tables) = target.1.get_ref().as_table() {
                dependencies.extend(self::dependencies(tables, text));
            }
        }
        let shared = table(document, "workspace").map_or_else(Vec::new, |workspace| {
            entries(workspace, "dependencies")
                .map(|(key, _)| name(key, key.get_ref(), text))
                .collect()
        });
        Ok(Self {
            path: path.to_owned(),
            package: package.and_then(|value| Some(name(value, value.get_ref().as_str()?, text))),
            dependencies,
            shared,
        })
    }
}

fn dependencies(tables: &DeTable, text: &str) -> Vec<Dependency> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .into_iter()
        .flat_map(|kind| {
            entries(tables, kind).map(move |(key, value)| Dependency {
                name: name(key, key.get_ref(), text),
                is_normal: kind == "dependencies",
                is_inherited: value
                    .get_ref()
                    .get("workspace")
                    .is_some_and(|value| value.get_ref().as_bool() == Some(true)),
            })
        })
        .collect()
}

type Entry<'a, 'i> = (
    &'a Spanned<toml::de::DeString<'i>>,
    &'a Spanned<DeValue<'i>>,
);

fn entries<'a, 'i>(parent: &'a DeTable<'i>, key: &str) -> impl Iterator<Item = Entry<'a, 'i>> {
    table(parent, key).into_iter().flatten()
}

fn table<'a, 'i>(parent: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    parent.get(key)?.get_ref().as_table()
}

fn name<T>(place: &Spanned<T>, name: &str, text: &str) -> Name {
    Name {
        text: name.to_owned(),
        line: line(text, place.span().start),
    }
}

fn line(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
        + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_dependencies_is_read() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\nc = \"1\"\n\
                    [dev-dependencies]\nd = { workspace = true }\n\
                    [target.'cfg(unix)'.build-dependencies]\ne = { version = \"1\" }\n";
        let manifest = Manifest::parse("crates/a/Cargo.toml", text).unwrap();
        let package = manifest.package.unwrap();
        assert_eq!((package.text.as_str(), package.line), ("a", 2));
        let read: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|it| {
                (
                    it.name.text.as_str(),
                    it.name.line,
                    it.is_normal,
                    it.is_inherited,
                )
            })
            .collect();
        assert_eq!(
            read,
            [
                ("b", 4, true, true),
                ("c", 5, true, false),
                ("d", 7, false, true),
                ("e", 9, false, false)
            ]
        );
        assert!(manifest.shared.is_empty());
    }

    #[test]
    fn the_shared_dependencies_of_the_root_are_read() {
        let text = "[workspace]\nmembers = []\n[workspace.dependencies]\na = \"1\"\n";
        let manifest = Manifest::parse("Cargo.toml", text).unwrap();
        assert!(manifest.package.is_none());
        assert_eq!(
            (manifest.shared[0].text.as_str(), manifest.shared[0].line),
            ("a", 4)
        );
    }

    #[test]
    fn text_that_is_not_toml_is_a_finding() {
        let finding = Manifest::parse("Cargo.toml", "[workspace]\nmembers = \n")
            .err()
            .unwrap();
        assert_eq!(finding.line, 2);
        assert!(
            finding.message.starts_with("this is not TOML: "),
            "{finding}"
        );
    }
}
