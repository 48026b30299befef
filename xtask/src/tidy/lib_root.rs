//! `lib.rs` is a table of contents: modules and what the crate exports.

use std::iter::Peekable;

use proc_macro2::{TokenStream, TokenTree, token_stream::IntoIter};

use super::{
    Finding,
    tokens::{is_braces, is_punct},
};

/// Finds items of a `lib.rs` other than `mod name;` and `use …;`.
pub fn check(path: &str, stream: TokenStream) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut trees = stream.into_iter().peekable();
    loop {
        skip_attributes_and_visibility(&mut trees);
        let Some(first) = trees.next() else {
            return findings;
        };
        let line = first.span().start().line;
        let is_use = is_word(&first, "use");
        let end = trees.find(|tree| is_punct(tree, ';') || (!is_use && is_braces(tree)));
        let ends_with_semicolon = end.is_some_and(|end| is_punct(&end, ';'));
        let is_declaration = is_word(&first, "mod") && ends_with_semicolon;
        if !is_use && !is_declaration {
            findings.push(Finding::new(
                path,
                line,
                format!(
                    "`{first} …` stands in lib.rs, which only declares modules and re-exports; \
                     move it to a module"
                ),
            ));
        }
        // The semicolon of an item such as `const A: B = B {};`.
        trees.next_if(|tree| is_punct(tree, ';'));
    }
}

fn skip_attributes_and_visibility(trees: &mut Peekable<IntoIter>) {
    loop {
        if trees.next_if(|tree| is_punct(tree, '#')).is_some() {
            trees.next_if(|tree| is_punct(tree, '!'));
            trees.next();
        } else if trees.next_if(|tree| is_word(tree, "pub")).is_some() {
            trees.next_if(|tree| matches!(tree, TokenTree::Group(_)));
        } else {
            return;
        }
    }
}

fn is_word(tree: &TokenTree, word: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of_findings(text: &str) -> Vec<usize> {
        let findings = check("crates/a/src/lib.rs", text.parse().unwrap());
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn modules_and_exports_pass() {
        let text = "//! Doc.\n#![warn(missing_docs)]\n\nmod a;\npub mod b;\n#[cfg(test)]\n\
                    pub(crate) mod c;\n\n/// Doc.\npub use a::{A, B};\nuse b::*;\n";
        assert!(lines_of_findings(text).is_empty());
    }

    #[test]
    fn each_other_item_is_found_once() {
        for item in [
            "pub fn f() -> u8 { 1 }",
            "struct S { a: u8 }",
            "struct S;",
            "pub enum E { A }",
            "impl S { fn f() {} }",
            "const A: B = B { c: 1 };",
            "pub(crate) static A: u8 = 1;",
            "mod inline { fn f() {} }",
            "macro_rules! m { () => {} }",
        ] {
            let text = format!("//! Doc.\nmod a;\n{item}\nuse a::{{A, B}};\nmod z;\n");
            assert_eq!(lines_of_findings(&text), [3], "{item}");
        }
    }
}
