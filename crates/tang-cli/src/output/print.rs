//! Lines on stdout and stderr that can do nothing to the terminal.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
    path::Path,
};

use serde::Serialize;
use serde_json::{Serializer, ser::Formatter};
use tang_files::{escape_message, escape_value, is_invisible};

/// Writes one line to stderr, escaped. A closed stderr is no error.
pub fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{}", escape_message(&text.to_string()));
}

/// Prints a path as one line of stdout, escaped on a terminal only.
pub fn print_path(path: &Path) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let shown = path.display();
    if out.is_terminal() {
        writeln!(out, "{}", escape_value(&shown.to_string()))
    } else {
        writeln!(out, "{shown}")
    }
}

/// Writes a value as one line of JSON. Invisible characters are `\uXXXX`: the same text to a reader of JSON,
/// and nothing to a terminal.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Escaped))?;
    writeln!(out)
}

struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for character in fragment.chars() {
            if is_invisible(character) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            } else {
                write!(writer, "{character}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_of_json_has_the_same_text_and_a_terminal_none_of_it() {
        let text = "春\u{1b}[31m\u{9b}\u{200b}\u{202e}\u{e0041}\"\n\u{3000}😀";
        let mut json = Vec::new();
        write_json(&mut json, &[text]).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert_eq!(
            json,
            r#"["春\u001b[31m\u009b\u200b\u202e\udb40\udc41\"\n\u3000😀"]"#.to_owned() + "\n"
        );
        assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
    }
}
