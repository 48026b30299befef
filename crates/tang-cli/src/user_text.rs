//! The text that a user typed, as the model knows text.

use std::sync::LazyLock;

use tang_corpus::Converter;
use tang_prosody::{COMMA, FULL_STOP};

/// Made once, as building its tables takes longer than a poem.
static CONVERTER: LazyLock<Converter> = LazyLock::new(Converter::traditional_to_simplified);

/// Simplified characters, `，` and `。` for the ASCII marks, and no white space: how the lines of a
/// pasted poem are broken or indented means nothing.
pub fn user_text(typed: &str) -> String {
    let text: String = typed
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| match c {
            ',' => COMMA,
            '.' => FULL_STOP,
            _ => c,
        })
        .collect();
    simplified(&text)
}

/// Simplified characters, and the rest as it is.
pub fn simplified(typed: &str) -> String {
    CONVERTER.convert(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        for (typed, wanted) in [
            ("", ""),
            (" \n", ""),
            ("春風\n", "春风"),
            ("白日依山盡,\n　黃河入海流.", "白日依山尽，黄河入海流。"),
            ("春，a!", "春，a!"),
        ] {
            assert_eq!(user_text(typed), wanted);
        }
    }
}
