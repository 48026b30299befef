//! The form of a Rust file: its first line, its length, and a `lib.rs` that only declares and re-exports.

/// The most lines that a file may have; aim at 350.
const MAX_LINES: usize = 400;

/// The beginnings of the lines of a `lib.rs` in rustfmt's layout.
const DECLARES: [&str; 10] = [
    "//",
    "#",
    "mod ",
    "pub mod ",
    "pub(crate) mod ",
    "use ",
    "pub use ",
    "pub(crate) use ",
    " ",
    "}",
];

/// Finds a file without a first line of `//!`, one that is too long, and other items in a `lib.rs`.
pub fn check(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if !text.starts_with("//! ") {
        let advice = "the first line is not a `//!` comment; say there what the file is for";
        findings.push(format!("{path}:1: {advice}"));
    }
    let length = text.lines().count();
    if length > MAX_LINES {
        let advice = format!("{MAX_LINES} are allowed; split the file, one noun each");
        findings.push(format!("{path}:{MAX_LINES}: {length} lines, {advice}"));
    }
    let is_lib = path.ends_with("/lib.rs");
    for (index, line) in text.lines().enumerate().filter(|_| is_lib) {
        let is_declaration = DECLARES.iter().any(|start| line.starts_with(start));
        let has_body = line.contains("mod ") && line.ends_with('{');
        if !line.is_empty() && (!is_declaration || has_body) {
            let advice =
                "lib.rs declares modules and re-exports, nothing else; move this to a module";
            findings.push(format!("{path}:{}: {advice}", index + 1));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(path: &str, text: &str, line: usize) -> bool {
        let findings = check(path, text);
        assert!(findings.len() <= 1, "{findings:?}");
        let start = format!("{path}:{line}: ");
        findings.iter().any(|finding| finding.starts_with(&start))
    }

    #[test]
    fn a_file_begins_with_its_purpose() {
        for (text, found) in [
            ("//! Doc.\n\nfn f() {}\n", false),
            ("// Comment.\n", true),
            ("\n//! Doc.\n", true),
            ("", true),
        ] {
            assert_eq!(is_found("crates/a/src/b.rs", text, 1), found, "{text}");
        }
    }

    #[test]
    fn only_a_line_after_the_limit_is_too_much() {
        let longest = "//! Doc.\n".repeat(MAX_LINES);
        assert!(check("a.rs", &longest).is_empty());
        assert!(is_found("a.rs", &(longest + "//! Doc.\n"), MAX_LINES));
    }

    #[test]
    fn lib_rs_declares_and_exports() {
        let text = "//! Doc.\n#![warn(missing_docs)]\n\nmod a;\npub mod b;\n#[cfg(test)]\n\
                    pub(crate) mod c;\n\n/// Doc.\npub use a::{\n    A, B,\n};\nuse b::*;\n";
        assert!(check("crates/a/src/lib.rs", text).is_empty());
        for item in [
            "pub fn f() -> u8 {",
            "struct S;",
            "pub enum E {",
            "impl S {",
            "const A: B = B { c: 1 };",
            "pub(crate) static A: u8 = 1;",
            "mod inline {",
            "macro_rules! m {",
        ] {
            let text = format!("//! Doc.\nmod a;\n{item}\n}}\nmod z;\n");
            assert!(is_found("crates/a/src/lib.rs", &text, 3), "{item}");
            assert!(!is_found("crates/a/src/b.rs", &text, 3), "{item}");
        }
    }
}
