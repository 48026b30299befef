//! Poems from text, as people and `tang` write it.

use std::{io, path::Path};

use anyhow::{Context, Result, ensure};
use tang_files::{read_bounded, read_stream_bounded};
use tang_prosody::{COMMA, FULL_STOP};

use crate::user_text::user_text;

/// The poems of a file, or of stdin for `-`, as [`user_text`] has them.
///
/// # Errors
///
/// If it cannot be read, is not UTF-8, or has no poem.
pub fn read_poems(path: &Path) -> Result<Vec<String>> {
    let (name, bytes) = if path == "-" {
        ("stdin".to_owned(), read_stream_bounded(io::stdin().lock()))
    } else {
        (path.display().to_string(), read_bounded(path))
    };
    let bytes = bytes.with_context(|| format!("cannot read {name}"))?;
    let text = String::from_utf8(bytes).map_err(|error| error.utf8_error());
    let text = text.with_context(|| format!("{name} is not UTF-8 text"))?;
    let poems = poems(&text);
    ensure!(!poems.is_empty(), "{name} has no poem: it is empty");
    Ok(poems)
}

/// Marks that editors of verse use beside `，` and `。`.
const OTHER_MARKS: [char; 9] = ['？', '！', '；', '、', '：', '?', '!', ';', ':'];

/// An empty line ends a poem, which may stand on many lines. Where a line has more than a couplet,
/// that is, more than two marks, it and its neighbours are poems of one line each.
fn poems(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<String> = text.lines().map(user_text).collect();
    let mut poems = Vec::new();
    for block in lines
        .split(String::is_empty)
        .filter(|block| !block.is_empty())
    {
        if block.iter().any(|line| line.matches(is_mark).count() > 2) {
            poems.extend(block.iter().map(|poem| plain_marks(poem)));
        } else {
            poems.push(plain_marks(&block.concat()));
        }
    }
    poems
}

fn is_mark(c: char) -> bool {
    c == COMMA || c == FULL_STOP || OTHER_MARKS.contains(&c)
}

/// Each other mark as the one that closes a line at its place: a comma after the first line of a
/// couplet, a full stop after the second.
fn plain_marks(poem: &str) -> String {
    let mut closes = false;
    poem.chars()
        .map(|c| {
            if !is_mark(c) {
                return c;
            }
            closes = !closes;
            match (OTHER_MARKS.contains(&c), closes) {
                (false, _) => c,
                (true, true) => COMMA,
                (true, false) => FULL_STOP,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POEM: &str = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";

    #[test]
    fn poems_may_be_broken_at_each_mark_or_not_at_all() {
        let lines = POEM.replace('，', "，\n").replace('。', "。\n");
        let couplets = POEM.replace('。', "。\n");
        for one in [POEM, &lines, &couplets] {
            for between in ["\n\n", "\n \n\n"] {
                let text = format!("\u{feff}\n{one}{between}{one}\r\n");
                assert_eq!(poems(&text), [POEM; 2], "{text}");
            }
        }
        assert_eq!(poems(&format!("{POEM}\n{POEM}\n")), [POEM; 2]);
    }

    #[test]
    fn a_broken_poem_among_poems_of_one_line_stays_alone() {
        let broken = "黄河入海流。";
        let text = format!("{broken}\n{POEM}\n{broken}\n\n{broken}\n{broken}");
        assert_eq!(poems(&text), [broken, POEM, broken, &broken.repeat(2)]);
    }

    #[test]
    fn other_marks_close_lines_too() {
        let asked = "白日依山尽？黄河入海流！欲穷千里目；更上一层楼？";
        assert_eq!(poems(asked), [POEM]);
        assert_eq!(poems(&format!("{asked}\n{asked}\n")), [POEM; 2]);
        assert_eq!(
            poems("白日依山尽。黄河入海流，"),
            ["白日依山尽。黄河入海流，"]
        );
    }

    #[test]
    fn what_is_typed_is_understood() {
        let typed = "白日依山盡,黃河入海流.\n欲窮千里目,更上一層樓.\n";
        assert_eq!(poems(typed), [POEM]);
        assert_eq!(poems(" \n\u{3000}\n"), [""; 0]);
    }
}
