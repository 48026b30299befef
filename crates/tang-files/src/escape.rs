//! Text of unknown origin, made fit for one line of a terminal.

use std::borrow::Cow;

/// Characters shown of a value: a word, a name, a path.
const VALUE: usize = 200;
/// Characters shown of a message that may quote many values.
const MESSAGE: usize = 4000;

/// A value on one line, as a message quotes it: invisible characters (controls, line breaks, spaces but the plain
/// one, formats, direction marks, variation selectors, private and unassigned code points) as code points such as
/// `\u{200b}`, all others as they are. A value of more than 200 characters is cut to the first and the last 100,
/// with `…` between them.
pub fn escape_value(text: &str) -> String {
    escape(&shorten(text, VALUE))
}

/// A whole message of up to 4,000 characters, escaped as by [`escape_value`]. Escapes in it stay as they are.
pub fn escape_message(text: &str) -> String {
    escape(&shorten(text, MESSAGE))
}

/// A text of many lines, of any length, each escaped as by [`escape_value`].
pub fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

/// Whether a character is invisible after a letter.
pub fn is_invisible(character: char) -> bool {
    match character {
        ' '..='~' | '\u{3400}'..='\u{9fff}' => false,
        // Printable by the standard library, but invisible: fillers, joiners and variation
        // selectors.
        '\u{34f}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{ffa0}'
        | '\u{e0100}'..='\u{e01ef}' => true,
        // After a letter, since the standard library escapes an accent at the beginning of a text.
        _ => String::from_iter(['a', character]).escape_debug().nth(2).is_some(),
    }
}

fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (index, character) in text.char_indices() {
        let has_no_letter = index == 0 && character.escape_debug().nth(2).is_some();
        if has_no_letter || is_invisible(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The beginning and the end of a text of more than `limit` characters.
fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    if text.chars().nth(limit).is_none() {
        return Cow::Borrowed(text);
    }
    let byte = |place: Option<(usize, char)>| place.map_or(0, |(byte, _)| byte);
    let cut = byte(text.char_indices().nth(limit / 2));
    let rest = byte(text.char_indices().nth_back(limit / 2 - 1));
    Cow::Owned(format!("{}…{}", &text[..cut], &text[rest..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_stays() {
        for text in [
            "",
            "春眠不觉𠮷〇",
            "カナ ひらがな",
            "naïve cafe\u{301}",
            "😀👍🏽",
            r#"C:\new "it's" `{}`"#,
            "，。？！；：、「」《》",
            "︽\u{323af}\u{2fa1d}",
        ] {
            assert_eq!(escape_value(text), text);
        }
    }

    #[test]
    fn what_is_not_seen_is_a_code_point() {
        for (text, wanted) in [
            ("春\u{200b}眠", r"春\u{200b}眠"),
            ("\u{feff}春", r"\u{feff}春"),
            ("\u{1b}[31m春\u{1b}[0m", r"\u{1b}[31m春\u{1b}[0m"),
            ("\u{202e}txt", r"\u{202e}txt"),
            ("a\nb\r\tc\0", r"a\u{a}b\u{d}\u{9}c\u{0}"),
            ("\u{9b}31m\u{85}\u{7f}", r"\u{9b}31m\u{85}\u{7f}"),
            ("\u{2028}\u{2029}", r"\u{2028}\u{2029}"),
            ("a\u{a0}b\u{3000}c", r"a\u{a0}b\u{3000}c"),
            ("\u{e000}\u{f0000}\u{ffff}\u{378}", r"\u{e000}\u{f0000}\u{ffff}\u{378}"),
            ("葛\u{e0100}\u{fe0f}", r"葛\u{e0100}\u{fe0f}"),
            ("\u{3164}\u{2800}\u{115f}", r"\u{3164}\u{2800}\u{115f}"),
            ("\u{2066}\u{200d}\u{ad}\u{e0041}", r"\u{2066}\u{200d}\u{ad}\u{e0041}"),
            ("\u{301}", r"\u{301}"),
        ] {
            assert_eq!(escape_value(text), wanted);
            assert_eq!(escape_message(&escape_value(text)), wanted);
        }
    }

    /// The standard library escapes every control and every format character.
    #[test]
    fn no_character_of_a_terminal_is_left() {
        let all = '\0'..=char::MAX;
        assert!(all.clone().filter(|c| c.is_control()).all(is_invisible));
        let moving = all.filter(|c| c.is_whitespace() && *c != ' ');
        assert_eq!(moving.clone().count(), 24);
        assert!({ moving }.all(is_invisible));
    }

    #[test]
    fn lines_stay_lines() {
        let text = "| 春\u{1b} |\n\n\u{200b}\n";
        assert_eq!(escape_lines(text), "| 春\\u{1b} |\n\n\\u{200b}\n");
        let long = format!("{}\n", "春".repeat(10_000));
        assert_eq!(escape_lines(&long), long);
    }

    #[test]
    fn a_long_value_is_shortened_in_its_middle() {
        let text = format!("{}{}", "春".repeat(100), "眠".repeat(100));
        assert_eq!(escape_value(&text), text);
        let longer = format!("{}不{}", "春".repeat(100), "眠".repeat(100));
        assert_eq!(escape_value(&longer), format!("{}…{}", "春".repeat(100), "眠".repeat(100)));
        let hidden = "\u{200b}".repeat(100_000);
        assert_eq!(escape_value(&hidden).len(), 200 * r"\u{200b}".len() + '…'.len_utf8());
    }
}
