//! The place where a text stops being verse.

use std::fmt;

use serde::Serialize;

use super::{row::Row, run::Run};

/// The first place at which a text cannot be a poem of strict form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The line of the page, counted from 1.
    pub line: usize,
    /// The character of that line, counted from 1, spaces and marks included.
    pub character: usize,
    /// The text there.
    pub text: String,
    /// The fault, and what to do.
    pub reason: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, character, text, reason } = self;
        let text = tang_files::escape_value(text);
        write!(f, "line {line}, character {character}: `{text}` {reason}")
    }
}

impl Unread {
    /// The first place at which these rows cannot be a poem: a character that no poem has, a line
    /// whose length differs from that of most lines, or the last line if only the count of lines is
    /// wrong.
    pub(crate) fn of(rows: &[Row]) -> Self {
        let runs = || rows.iter().flat_map(|row| row.runs.iter().map(move |run| (row.number, run)));
        let lines = |run: &Run, length: usize| {
            let got = run.chars.len();
            [1, 2].into_iter().find(|lines| got == lines * length)
        };
        let of_length = |length| runs().filter(|(_, run)| lines(run, length).is_some()).count();
        let (fives, sevens) = (of_length(5), of_length(7));
        let wanted = (fives + sevens > 0).then_some(if fives < sevens { 7 } else { 5 });
        let mut found = 0;
        for (line, run) in runs() {
            if let Some((character, c)) = run.stray {
                return Self {
                    line,
                    character,
                    text: c.to_string(),
                    reason: format!(
                        "(U+{:04X}) is neither a Han character nor a mark: put the right one, or delete it",
                        u32::from(c)
                    ),
                };
            }
            let Some(lines) = wanted.and_then(|length| lines(run, length)) else {
                let rule = wanted.map_or("a line of verse 5 or 7".to_owned(), |wanted| {
                    format!("the lines around it {wanted}")
                });
                let got = run.chars.len();
                let reason = format!("has length {got}, and {rule}: complete it, or delete it");
                return Self::at(line, run, reason);
            };
            found += lines;
        }
        let (line, last) = runs().last().expect("a row that is not blank has a run");
        let reason = format!(
            "ends a text of {found} lines of {}, and a poem has 4 or 8: complete it, or leave a line \
             empty between two poems",
            wanted.unwrap_or_default()
        );
        Self::at(line, last, reason)
    }

    fn at(line: usize, run: &Run, reason: String) -> Self {
        Self { line, character: run.chars[0].0, text: run.text(), reason }
    }
}
