//! Wrong usage, as it is told.

use std::{error::Error, io::Write, process::ExitCode};

use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue},
};
use tang_files::{escape_message, escape_value};

/// The exit code of wrong usage.
const USAGE: u8 = 2;

/// Prints help or version that was asked for and ends the program, or tells what is wrong.
pub fn usage_error(error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    // If nobody reads stderr any more, nobody misses it.
    let _ = write!(anstream::stderr(), "{}", usage_message(error));
    ExitCode::from(USAGE)
}

/// What is wrong, with styles, and with what was typed escaped.
fn usage_message(mut error: clap::Error) -> String {
    let typed: Vec<String> = error
        .context()
        .filter_map(|(_, value)| match value {
            ContextValue::String(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    // A tip has styles, and what looks like one may have been typed; but it quotes only flags.
    let flags = || typed.iter().filter(|text| text.starts_with('-'));
    let tip = |tip: &StyledStr| {
        let tip = tip.ansi().to_string();
        StyledStr::from(flags().fold(tip, escape_part))
    };
    let escaped: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| {
            let value = match value {
                ContextValue::String(text) => ContextValue::String(escape_value(text)),
                ContextValue::Strings(texts) => {
                    ContextValue::Strings(texts.iter().map(|text| escape_value(text)).collect())
                }
                ContextValue::StyledStrs(tips) => {
                    ContextValue::StyledStrs(tips.iter().map(tip).collect())
                }
                _ => return None,
            };
            Some((kind, value))
        })
        .collect();
    for (kind, value) in escaped {
        error.insert(kind, value);
    }
    let message = error.render().ansi().to_string();
    let Some(source) = error.source().map(ToString::to_string) else {
        return message;
    };
    let escaped = typed.iter().fold(source.clone(), escape_part);
    message.replace(&source, &escape_message(&escaped))
}

/// A text in which one of its parts is escaped.
fn escape_part(text: String, part: &String) -> String {
    if part.is_empty() {
        return text;
    }
    text.replace(part, &escape_value(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::command_line;

    /// What a terminal would show of a message, and nothing else; styles are no part of it.
    fn message(words: &[&str]) -> Option<String> {
        let words = ["tang"].iter().chain(words);
        let error = command_line().try_get_matches_from(words).err()?;
        let mut message = usage_message(error);
        for style in ["0", "1", "4", "31", "32", "33"] {
            message = message.replace(&format!("\u{1b}[{style}m"), "");
        }
        Some(message)
    }

    /// Whatever a flag or an argument is, or will be, its value comes back escaped.
    #[test]
    fn nothing_that_was_typed_reaches_the_terminal() {
        for nasty in [
            "\u{1b}[2J\u{202e}春\n\u{200b}",
            "\u{1b}",
            "\u{1b}[1m",
            "\u{1b}[0m",
        ] {
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
            assert!(refused > 50, "{refused}");
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
        let long = "龘".repeat(100_000);
        assert!(message(&["write", "--form", &long]).unwrap().len() < 3000);
    }

    /// A number below 0 is read as a number, not as a flag, and each error names the range.
    #[test]
    fn a_number_out_of_its_range_names_it() {
        for (words, wanted) in [
            ("write --seed -1", "-1 is not in 0..=18446744073709551615"),
            ("write --seed=-1", "-1 is not in 0..=18446744073709551615"),
            (
                "write --seed 18446744073709551616",
                "18446744073709551616 is not in 0..=",
            ),
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
            (
                "write --temperature warm",
                "0, or a finite number from 0.001 on",
            ),
            ("write --top-p half", "above 0, at most 1"),
            ("write --repetition-penalty ''", "a finite number from 1 on"),
            ("acrostic 春 --place x", "not a whole number: use 1 to 7"),
            ("acrostic 春 --line -5", "use 5 or 7"),
            ("next 春 --top -1", "-1 is not in 1..="),
            ("logits --ids -1", "-1 is not in 0..=4294967295"),
            ("logits --ids 1,-1", "-1 is not in 0..=4294967295"),
            ("eval --poems -1", "-1 is not in 1..="),
            ("eval --seed -1", "-1 is not in 0..="),
            ("train --seed -1", "-1 is not in 0..="),
            ("train --steps -1", "-1 is not in 1..="),
            ("train --context -1", "-1 is not in 1..="),
            ("train --kv-heads -1", "-1 is not in 1..="),
            ("bench-train --turns 2", "2 is not in 3..=255"),
            ("bench-train --steps -1", "-1 is not in 1..=65535"),
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
