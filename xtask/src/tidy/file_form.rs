//! The form of a Rust file: its length, its first line, no notes about work left undone.

use super::Finding;

/// The most lines that a file may have; aim at 350.
const MAX_LINES: usize = 400;

/// Joined from halves, so that this file passes its own check.
const NOTES: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Finds files that are empty or too long, that do not start with `//!`, or that hold such notes.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    if text.trim().is_empty() {
        return vec![Finding::new(
            path,
            1,
            "the file is empty; fill or delete it",
        )];
    }
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        findings.push(Finding::new(
            path,
            1,
            "the first line is not a `//!` comment; start with one that says what the file is for",
        ));
    }
    let length = text.lines().count();
    if length > MAX_LINES {
        findings.push(Finding::new(
            path,
            MAX_LINES + 1,
            format!("{length} lines, and {MAX_LINES} are allowed; split the file, one noun each"),
        ));
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(note) = NOTES.into_iter().find(|&note| has_word(line, note)) {
            findings.push(Finding::new(
                path,
                index + 1,
                format!("`{note}`; do it now or delete the note"),
            ));
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|character: char| !character.is_alphanumeric() && character != '_')
        .any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of_findings(text: &str) -> Vec<usize> {
        let findings = check("crates/a/src/b.rs", text);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_good_file_passes() {
        assert!(lines_of_findings("//! Doc.\n\nconst METHOD: u8 = 1;\n").is_empty());
    }

    #[test]
    fn an_empty_file_is_found() {
        assert_eq!(lines_of_findings("\n"), [1]);
    }

    #[test]
    fn a_missing_doc_line_is_found() {
        assert_eq!(lines_of_findings("// Comment.\n"), [1]);
        assert_eq!(lines_of_findings("\n//! Doc.\n"), [1]);
    }

    #[test]
    fn only_the_line_after_the_limit_is_too_much() {
        let longest = "//! Doc.\n".repeat(MAX_LINES);
        assert!(lines_of_findings(&longest).is_empty());
        assert_eq!(
            lines_of_findings(&(longest + "//! Doc.\n")),
            [MAX_LINES + 1]
        );
    }

    #[test]
    fn notes_are_found_as_words() {
        for note in NOTES {
            assert_eq!(
                lines_of_findings(&format!("//! Doc.\n// {note}: later\n")),
                [2]
            );
            assert!(lines_of_findings(&format!("//! A{note}S.\n")).is_empty());
        }
    }
}
