//! Relative links of Markdown files point to files of the workspace.

use std::{collections::BTreeSet, path::Path};

use markdown::{ParseOptions, mdast::Node};

use crate::workspace;

/// Finds links and images whose target is not among `files`, nor a folder of one of them.
pub fn check(path: &str, text: &str, files: &BTreeSet<String>) -> Vec<String> {
    let tree = markdown::to_mdast(text, &ParseOptions::gfm())
        .expect("only MDX, which is off, can be ill-formed");
    let mut links = Vec::new();
    collect(&tree, &mut links);
    links
        .into_iter()
        .filter(|(link, _)| !is_elsewhere(link) && !leads_to_one_of(files, path, link))
        .map(|(link, line)| {
            let advice = "is not a file of the workspace; mend the link or add the file";
            format!("{path}:{line}: `{link}` {advice}")
        })
        .collect()
}

/// Collects the targets below `node`, each with its line.
fn collect<'a>(node: &'a Node, links: &mut Vec<(&'a str, usize)>) {
    let url = match node {
        Node::Link(link) => Some(&link.url),
        Node::Image(image) => Some(&image.url),
        Node::Definition(definition) => Some(&definition.url),
        _ => None,
    };
    if let (Some(url), Some(position)) = (url, node.position()) {
        links.push((url, position.start.line));
    }
    for child in node.children().into_iter().flatten() {
        collect(child, links);
    }
}

/// Whether a link leaves the workspace or stays on its page.
fn is_elsewhere(link: &str) -> bool {
    link.starts_with('#') || link.contains("://") || link.starts_with("mailto:")
}

/// A leading slash means the root of the workspace.
fn leads_to_one_of(files: &BTreeSet<String>, path: &str, link: &str) -> bool {
    let file = link.split(['#', '?']).next().unwrap_or_default();
    let root = workspace::root();
    let base = match file.strip_prefix('/') {
        Some(_) => root.to_owned(),
        None => root.join(path).with_file_name(""),
    };
    let target = base.join(file.trim_start_matches('/')).canonicalize();
    let target = target.as_deref().map(|target| target.strip_prefix(root));
    let Ok(Ok(target)) = target else { return false };
    files.iter().any(|file| Path::new(file).starts_with(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of_findings(path: &str, text: &str) -> Vec<usize> {
        let files = ["README.md", "LICENSE", "data/README.md", "data/opencc/LICENSE"];
        let files = files.map(str::to_owned).into();
        let findings = check(path, text, &files);
        let line = |finding: &String| finding.split(':').nth(1)?.parse().ok();
        findings.iter().filter_map(line).collect()
    }

    #[test]
    fn links_to_files_and_folders_pass() {
        for link in ["LICENSE", "./data/README.md#form", "data", "data/opencc/", "#top", "."] {
            let text = format!("Text\n[a]({link})\n");
            assert!(lines_of_findings("README.md", &text).is_empty(), "{link}");
        }
        for link in ["../LICENSE", "opencc/LICENSE", "/data/README.md", "../data/../README.md"] {
            let text = format!("![a]({link})");
            assert!(lines_of_findings("data/README.md", &text).is_empty(), "{link}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for link in ["missing.md", "dat", "data/missing.md#a", "../LICENSE", "/missing"] {
            for text in [
                format!("\n\n[a]({link})"),
                format!("\n\n![a]({link})"),
                format!("[a][b]\n\n[b]: {link}"),
                format!("| a |\n|---|\n| [a]({link}) |"),
            ] {
                assert_eq!(lines_of_findings("README.md", &text), [3], "{text}");
            }
        }
    }

    #[test]
    fn links_out_of_the_workspace_and_code_are_left_alone() {
        let text = "<https://example.org/a> [a](https://example.org) `[a](missing)`\n\
                    ```\n[a](missing)\n```\n[m](mailto:a@example.org)";
        assert!(lines_of_findings("README.md", text).is_empty());
    }
}
