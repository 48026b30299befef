//! Messages of wrong usage.

use std::{env, io::Write, iter::once, process::ExitCode};

use clap::builder::Styles;
use tang_files::{escape_value, is_invisible};

use crate::commands::command_line;

/// The exit code of wrong usage.
pub const USAGE: u8 = 2;

/// Prints help or version and ends the program, or prints the message of an error.
pub fn usage_error(error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let words = env::args_os().map(|word| word.to_string_lossy().into_owned());
    let message = usage_message(error, &words.collect::<Vec<_>>());
    // A closed stderr is no error.
    let _ = write!(anstream::stderr(), "{message}");
    ExitCode::from(USAGE)
}

/// The message of an error that these words gave, with styles, or with the words escaped where they need it.
fn usage_message(error: clap::Error, words: &[String]) -> String {
    if words.iter().all(|word| escape_value(word) == *word) {
        return error.render().ansi().to_string();
    }
    // The error is made again without styles, which could not be told from typed escape sequences.
    let plain = command_line().styles(Styles::plain());
    let error = plain.try_get_matches_from(words).err().unwrap_or(error);
    let mut message = error.render().ansi().to_string();
    let parts = words.iter().flat_map(|word| once(word.as_str()).chain(word.split('=')));
    for part in parts.filter(|part| escape_value(part) != **part) {
        let escaped = escape_value(part);
        if part.trim().is_empty() {
            // A line break is one of the message, too, but not between quotes.
            for quote in ['\'', '`'] {
                let quoted = |text: &str| format!("{quote}{text}{quote}");
                message = message.replace(&quoted(part), &quoted(&escaped));
            }
        } else {
            message = message.replace(part, &escaped);
        }
    }
    let mut escaped = String::new();
    for character in message.chars() {
        if character != '\n' && is_invisible(character) {
            escaped.extend(character.escape_unicode());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use tang_files::escape_message;

    use super::*;

    /// The message as a terminal shows it, without its styles.
    fn message(words: &[&str]) -> Option<String> {
        let words: Vec<String> =
            ["tang"].iter().chain(words).map(|word| (*word).to_owned()).collect();
        let error = command_line().try_get_matches_from(&words).err()?;
        let mut message = usage_message(error, &words);
        for style in ["0", "1", "4", "31", "32", "33"] {
            message = message.replace(&format!("\u{1b}[{style}m"), "");
        }
        Some(message)
    }

    /// The value of every flag and argument, also of future ones, is printed escaped.
    #[test]
    fn nothing_that_was_typed_reaches_the_terminal() {
        for nasty in ["\u{1b}[2J\u{202e}春\n\u{200b}", "\u{1b}", "\u{1b}[1m", "\u{1b}[0m"] {
            let shown = escape_value(nasty);
            let mut refused = 0;
            for command in command_line().get_subcommands() {
                for argument in command.get_arguments() {
                    let flag = argument.get_long();
                    let flag = flag.map(|long| format!("--{long}={nasty}"));
                    let word = flag.as_deref().unwrap_or(nasty);
                    let Some(message) = message(&[command.get_name(), word]) else {
                        continue;
                    };
                    let lines = message.replace('\n', "");
                    assert_eq!(lines, escape_message(&lines), "{message:?}");
                    refused += usize::from(message.contains(&shown));
                }
            }
            let least = if cfg!(feature = "train") { 50 } else { 30 };
            assert!(refused > least, "{refused}");
            for words in [
                vec![nasty],
                vec!["write", nasty],
                vec!["write", &format!("-{nasty}")],
                vec!["write", &format!("--{nasty}=1")],
                vec!["next", &format!("-{nasty}")],
                vec!["next", "春", &format!("--{nasty}")],
            ] {
                let message = message(&words).unwrap();
                let lines = message.replace('\n', "");
                assert_eq!(lines, escape_message(&lines), "{message:?}");
                assert!(message.contains(r"\u{1b}"), "{message:?}");
            }
        }
        for word in ["--form=\n", "--rhyme=\r\n", "--sequence=\n"] {
            let message = message(&["write", word]).unwrap();
            assert!(message.contains(r"\u{a}"), "{message:?}");
            assert!(!message.contains("'\n") && !message.contains("`\n"), "{message:?}");
        }
        let long = "龘".repeat(100_000);
        assert!(message(&["write", "--form", &long]).unwrap().len() < 3000);
    }

    /// A number below 0 is read as a number, not as a flag, and each error names the range.
    #[test]
    fn a_number_out_of_its_range_names_it() {
        for (words, wanted) in [
            ("write --seed -1", "-1 is not in 0..=18446744073709551615"),
            ("write --seed=-1", "-1 is not in 0..=18446744073709551615"),
            ("write --seed 18446744073709551616", "18446744073709551616 is not in 0..="),
            ("write --seed 1.5", "not a whole number in 0..="),
            ("write --seed x", "not a whole number in 0..="),
            ("write -n 0", "0 is not in 1..=4294967295"),
            ("write -n -5", "-5 is not in 1..=4294967295"),
            ("write -n 4294967296", "4294967296 is not in 1..="),
            ("write --top-k -1", "-1 is not in 0..="),
            ("write --max-new-tokens -3", "-3 is not in 1..="),
            ("write --best-of 0", "0 is not in 1..=65535"),
            ("write --beams -2", "-2 is not in 1..=1024"),
            ("write --beams 2000", "2000 is not in 1..=1024"),
            ("write --temperature warm", "0, or a finite number from 0.001 on"),
            ("write --top-p half", "above 0, at most 1"),
            ("write --repetition-penalty ''", "a finite number from 1 on"),
            ("acrostic 春 --place x", "not a whole number: use 1 to 7"),
            ("acrostic 春 --line -5", "use 5 or 7"),
            ("next 春 --top -1", "-1 is not in 1..="),
            ("logits --ids -1", "-1 is not in 0..=4294967295"),
            ("logits --ids 1,-1", "-1 is not in 0..=4294967295"),
            ("eval --poems -1", "-1 is not in 1..="),
            ("eval --seed -1", "-1 is not in 0..="),
            ("kv-cost --layers -1", "-1 is not in 1..="),
            ("kv-cost --memory -1", "no size of memory"),
        ] {
            let words = words.split(' ').map(|word| word.trim_matches('\''));
            let error = command_line().try_get_matches_from(["tang"].into_iter().chain(words));
            let message = error.unwrap_err().to_string();
            assert!(message.contains(wanted), "{message}");
        }
    }
}
