//! The tokens of a Rust file in a row, so that a pattern is a slice.
//!
//! Working on tokens keeps comments and the insides of string literals out of the checks.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One token: a word, a literal, an operator character or a delimiter.
pub struct Token {
    pub text: String,
    /// Counts from 1.
    pub line: usize,
    /// Whether it belongs to an item under `#[cfg(test)]`.
    pub in_test: bool,
}

/// All tokens of a file in the order of its text.
pub fn flatten(stream: &TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    push_all(stream, false, &mut tokens);
    tokens
}

fn push_all(stream: &TokenStream, in_test: bool, tokens: &mut Vec<Token>) {
    let mut item_in_test = in_test;
    let mut after_hash = false;
    for tree in stream.clone() {
        let is_hash = is_punct(&tree, '#');
        item_in_test |= after_hash && is_cfg_test(&tree);
        let ends_item = is_punct(&tree, ';') || is_braces(&tree);
        push(tree, item_in_test, tokens);
        if ends_item {
            item_in_test = in_test;
        }
        after_hash = is_hash;
    }
}

fn push(tree: TokenTree, in_test: bool, tokens: &mut Vec<Token>) {
    let mut token = |text: &str, span: proc_macro2::Span| {
        tokens.push(Token {
            text: text.to_owned(),
            line: span.start().line,
            in_test,
        });
    };
    let TokenTree::Group(group) = tree else {
        token(&tree.to_string(), tree.span());
        return;
    };
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    };
    token(open, group.span_open());
    push_all(&group.stream(), in_test, tokens);
    tokens.push(Token {
        text: close.to_owned(),
        line: group.span_close().start().line,
        in_test,
    });
}

/// Whether `tree` is this operator character.
pub fn is_punct(tree: &TokenTree, character: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Whether `tree` is a group in braces.
pub fn is_braces(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_cfg_test(tree: &TokenTree) -> bool {
    tree.to_string().split_whitespace().collect::<String>() == "[cfg(test)]"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(text: &str) -> Vec<Token> {
        flatten(&text.parse().unwrap())
    }

    fn words_in_tests(text: &str) -> Vec<String> {
        flat(text)
            .into_iter()
            .filter(|token| token.in_test && token.text.starts_with("word"))
            .map(|token| token.text)
            .collect()
    }

    #[test]
    fn tokens_stand_in_order_with_their_lines() {
        let tokens = flat("a::b(\n  [1, \"x // y\"], // c\n)");
        let texts: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "a",
                ":",
                ":",
                "b",
                "(",
                "[",
                "1",
                ",",
                "\"x // y\"",
                "]",
                ",",
                ")"
            ]
        );
        let lines: Vec<_> = tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3]);
    }

    #[test]
    fn an_item_under_cfg_test_ends_with_its_braces_or_semicolon() {
        assert_eq!(
            words_in_tests("word1; #[cfg(test)] mod tests { fn word2() { word3 } } fn word4() {}"),
            ["word2", "word3"]
        );
        assert_eq!(
            words_in_tests("#[cfg(test)] mod word1; mod word2;"),
            ["word1"]
        );
        assert!(words_in_tests("#[cfg(unix)] mod word1 {}").is_empty());
    }
}
