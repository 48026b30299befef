//! The marks that close lines of verse, in all their widths.

use crate::{COMMA, FULL_STOP};

/// The full-width form of a mark that closes a line; `None` for any other character.
pub const fn line_mark(c: char) -> Option<char> {
    Some(match c {
        ',' | '，' | '﹐' | '︐' => COMMA,
        '.' | '。' | '．' | '｡' | '﹒' | '︒' => FULL_STOP,
        '?' | '？' | '﹖' | '︖' | '⁇' | '⁈' => '？',
        '!' | '！' | '﹗' | '︕' | '‼' | '⁉' => '！',
        ';' | '；' | '﹔' | '︔' => '；',
        ':' | '：' | '﹕' | '︓' => '：',
        '、' | '､' | '﹑' | '︑' => '、',
        _ => return None,
    })
}

/// The text with all marks as `，` or `。`. These two stay; any other mark becomes `，` after the
/// first line of a couplet and `。` after the second. The count of characters stays the same.
pub fn plain_marks(text: &str) -> String {
    let mut closes = false;
    text.chars()
        .map(|c| {
            let Some(mark) = line_mark(c) else {
                return c;
            };
            closes = !closes;
            match (mark, closes) {
                (COMMA | FULL_STOP, _) => mark,
                (_, true) => COMMA,
                (_, false) => FULL_STOP,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_all_widths_are_known() {
        for (typed, wanted) in [
            (",，﹐︐", "，"),
            (".。．｡﹒︒", "。"),
            ("?？﹖︖⁇⁈", "？"),
            ("!！﹗︕‼⁉", "！"),
            (";；﹔︔", "；"),
            (":：﹕︓", "："),
            ("、､﹑︑", "、"),
        ] {
            for c in typed.chars() {
                assert_eq!(line_mark(c).map(String::from).as_deref(), Some(wanted), "{c}");
            }
        }
        for c in "春a1*□ \n“”《》（）—…·".chars() {
            assert_eq!(line_mark(c), None, "{c}");
        }
    }

    #[test]
    fn other_marks_become_those_of_their_places() {
        for (typed, wanted) in [
            ("春眠不觉晓？", "春眠不觉晓，"),
            ("春眠不觉晓?处处闻啼鸟!夜来", "春眠不觉晓，处处闻啼鸟。夜来"),
            ("春眠不觉晓,处处闻啼鸟.夜来", "春眠不觉晓，处处闻啼鸟。夜来"),
            ("春眠、处处；夜来：", "春眠，处处。夜来，"),
            ("春眠。处处，夜来？", "春眠。处处，夜来，"),
            ("", ""),
        ] {
            assert_eq!(plain_marks(typed), wanted);
        }
    }
}
