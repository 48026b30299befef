//! One row of a page: runs of Han characters between marks and spaces.

use std::mem;

use tang_prosody::{is_han, line_mark};

use super::{
    run::{NUMERALS, Run},
    verses::Verses,
};

/// Brackets around notes of an editor.
const BRACKETS: [(&[char], &[char]); 4] = [
    (&['(', '（'], &[')', '）']),
    (&['[', '［', '【'], &[']', '］', '】']),
    (&['〔', '〖'], &['〕', '〗']),
    (&['{', '｛'], &['}', '｝']),
];
/// The longest title that is taken for one, in Han characters.
const LONGEST_TITLE: usize = 40;

/// One row, without the parts that are no verse: notes in brackets, numbers, quotation marks, an author.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// The number of the line on the page, counted from 1.
    pub number: usize,
    /// The typed characters, without spaces and invisible characters; direction marks stay.
    pub text: String,
    pub runs: Vec<Run>,
    /// The lines of verse, if the whole row is verse.
    pub verses: Option<Verses>,
    /// Count of notes that were left out.
    pub notes: usize,
    /// Count of numbers that were left out.
    pub numbers: usize,
    /// Whether the row begins with a number: 1. or 一、 or （一）
    pub is_numbered: bool,
    /// The author's name that a dash sets apart at the end of the last line of verse, or that is the whole row.
    pub author: Option<String>,
}

impl Row {
    pub(crate) fn read(number: usize, typed: &str) -> Self {
        let chars: Vec<(usize, char)> = (1..).zip(typed.chars()).collect();
        let mut row = Self {
            number,
            text: typed.chars().filter(|c| !is_space(*c) || turns(*c)).collect(),
            ..Self::default()
        };
        let noted = notes(&chars);
        let is_noted = |at: usize| noted.iter().any(|(from, to)| (*from..=*to).contains(&at));
        let outside = |(at, c): &&(usize, char)| is_han(*c) && !is_noted(*at);
        // A row that is all in brackets is a note if it is no verse.
        let marks = chars.iter().filter(|(_, c)| line_mark(*c).is_some());
        if chars.iter().any(|c| outside(&c)) || marks.count() < 2 {
            row.notes = noted.len();
            row.runs(chars.iter().filter(|(at, _)| !is_noted(*at)));
        } else {
            let is_bracket = |at: usize| noted.iter().any(|(from, to)| at == *from || at == *to);
            row.runs(chars.iter().filter(|(at, _)| !is_bracket(*at)));
        }
        let before = chars.iter().take_while(|c| !outside(c));
        let counts = |c: char| is_digit(c) || NUMERALS.contains(c);
        row.is_numbered = before.clone().any(|(_, c)| counts(*c))
            && before.filter(|(_, c)| is_han(*c)).all(|(_, c)| counts(*c));
        if row.runs.first().is_some_and(Run::is_number) {
            row.runs.remove(0);
            row.numbers += 1;
            row.is_numbered = true;
        }
        row.take_author();
        row.verses = Verses::of(&row.runs);
        row
    }

    fn runs<'a>(&mut self, chars: impl Iterator<Item = &'a (usize, char)>) {
        let mut run = Run::default();
        let mut is_gap = false;
        let mut in_number = false;
        let mut before: Option<(usize, char)> = None;
        for &(at, c) in chars {
            // Characters that were left out before this one make a gap.
            is_gap |= before.is_some_and(|(place, _)| at != place + 1);
            // One hyphen may be the bullet of a list.
            let is_dash = is_dash(c) || c == '-' && before.is_some_and(|(_, c)| c == '-');
            before = Some((at, c));
            let is_digit = is_digit(c);
            self.numbers += usize::from(is_digit && !in_number);
            in_number = is_digit;
            if is_han(c) {
                if is_gap && !run.chars.is_empty() {
                    run.gaps.push(run.chars.len());
                }
                is_gap = false;
                run.chars.push((at, c));
            } else if let Some(mark) = line_mark(c) {
                if !run.is_empty() {
                    run.mark = Some(mark);
                    self.runs.push(mem::take(&mut run));
                }
                is_gap = false;
            } else if is_dash {
                if !run.is_empty() {
                    self.runs.push(mem::take(&mut run));
                }
                run.after_dash = true;
            } else if is_digit || is_space(c) || is_ornament(c) {
                is_gap |= !is_invisible(c);
            } else {
                run.stray.get_or_insert((at, c));
            }
        }
        if !run.is_empty() {
            self.runs.push(run);
        }
    }

    fn take_author(&mut self) {
        let Some((last, before)) = self.runs.split_last() else {
            return;
        };
        let is_author = last.after_dash && last.mark.is_none() && last.stray.is_none();
        if is_author && before.last().is_none_or(|run| run.mark.is_some()) {
            self.author = self.runs.pop().map(|run| run.text());
        }
    }

    /// Whether the row has no run.
    pub(crate) fn is_blank(&self) -> bool {
        self.runs.is_empty()
    }

    /// Count of runs that a mark closes.
    pub(crate) fn marks(&self) -> usize {
        self.runs.iter().filter(|run| run.mark.is_some()).count()
    }

    /// Whether the row can be a title, an author or the number of a poem: no mark closes it, and it
    /// has no line of verse.
    pub(crate) fn is_title(&self) -> bool {
        let is_verse = |run: &Run| run.is_closed() && run.shape().is_some();
        let characters: usize = self.runs.iter().map(|run| run.chars.len()).sum();
        !self.runs.last().is_none_or(Run::is_closed)
            && !self.runs.iter().any(is_verse)
            && characters <= LONGEST_TITLE
            && !self.text.chars().any(char::is_control)
    }

    /// Whether the row has a line of verse that a mark closes.
    pub(crate) fn has_verse(&self) -> bool {
        let mut runs = self.runs.iter();
        runs.any(|run| run.is_closed() && matches!(run.chars.len(), 5 | 7))
    }
}

/// The places of the brackets around notes.
fn notes(chars: &[(usize, char)]) -> Vec<(usize, usize)> {
    let mut notes = Vec::new();
    let mut rest = chars.iter();
    while let Some((from, c)) = rest.next() {
        let Some((_, closing)) = BRACKETS.iter().find(|(opening, _)| opening.contains(c)) else {
            continue;
        };
        let mut ahead = rest.clone();
        if let Some((to, _)) = ahead.find(|(_, c)| closing.contains(c)) {
            notes.push((*from, *to));
            rest = ahead;
        }
    }
    notes
}

/// White space, letters that look like white space, and invisible characters.
fn is_space(c: char) -> bool {
    let is_empty = matches!(c, '\u{115f}'..='\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}');
    c.is_whitespace() || is_empty || is_invisible(c)
}

/// Joiners, direction marks, variation selectors, tags. Private use is not among them: it may
/// encode a character.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// A direction mark, after which text may be shown from right to left.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Digits in any width, circle or superscript, which number notes and verses.
fn is_digit(c: char) -> bool {
    c.is_numeric() && !is_han(c)
}

/// A dash, as before the name of an author.
fn is_dash(c: char) -> bool {
    matches!(c, '‐'..='―' | '－')
}

/// Quotation marks, and ornaments before or between lines. Empty squares and circles are none: they
/// replace missing characters.
fn is_ornament(c: char) -> bool {
    matches!(c,
        '"' | '\'' | '“' | '”' | '‘' | '’' | '「'..='』' | '｢' | '｣' | '〈'..='》' | '〝'..='〟'
        | '﹁'..='﹄' | '＂' | '＇' | '«' | '»' | '*' | '＊' | '#' | '＃' | '>' | '＞' | '|' | '｜' | '•' | '·'
        | '・' | '‧' | '●' | '◆' | '■' | '※' | '☆' | '★' | '…' | '⋯' | '~' | '～' | '〜' | '=' | '＝'
        | '_' | '＿' | '+' | '-' | '/' | '／' | '`' | '･' | '∙' | '¦' | '‖' | '│' | '┃' | '←'..='⇿' | '▪'
        | '▲'..='◇' | '◎' | '\u{2600}'..='\u{260f}' | '\u{2613}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use crate::{Page, Unread};

    const POEM: &str = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
    const OTHER: &str = "红豆生南国，春来发几枝。愿君多采撷，此物最相思。";

    fn read(text: &str) -> Vec<Result<String, Unread>> {
        let texts = Page::read(text).texts.into_iter();
        texts.map(|text| text.poem).collect()
    }

    fn poems(text: &str) -> Vec<String> {
        read(text).into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn what_is_not_seen_is_left_out_and_what_may_be_a_character_is_named() {
        for hidden in
            "\u{2066}\u{202a}\u{202e}\u{200f}\u{2063}\u{180e}\u{34f}\u{e0041}\u{2800}\u{3164}"
                .chars()
        {
            let text = format!(
                "{hidden}白日{hidden}依山尽，{hidden}黄河入海流。欲穷千里目，更上一层楼。{hidden}"
            );
            assert_eq!(poems(&text), [POEM], "{hidden:?}");
            let empty = format!("{hidden}\n{POEM}\n{hidden}\n{OTHER}");
            assert_eq!(poems(&empty), [POEM, OTHER], "{hidden:?}");
        }
        for missing in "□○◯〓☐\u{fffd}\u{e000}\u{f0000}\u{1b}".chars() {
            let text = POEM.replace('目', &missing.to_string());
            let unread = read(&text).remove(0).unwrap_err();
            assert_eq!((unread.line, unread.character), (1, 17), "{missing:?}");
        }
    }

    #[test]
    fn a_number_parts_poems_but_no_lines() {
        let rows = |text: &str| text.replace('。', "。\n");
        let (two, other) = (rows(POEM), OTHER);
        for numbers in [
            "一、 二、",
            "1. 2.",
            "（一） （二）",
            "[1] [2]",
            "（一）\n （二）\n",
            "其一\n 其二\n",
            "① ②",
            "（1） （2）",
        ] {
            let (first, second) = numbers.split_once(' ').unwrap();
            let text = format!("{first}{two}{second}{}", rows(other));
            assert_eq!(poems(&text), [POEM, other], "{text}");
        }
        // Eight lines: each has a number, each couplet, or every fifth line.
        let eight = [POEM, other].concat();
        let lines: Vec<&str> = eight.split_inclusive(['，', '。']).collect();
        for (every, of) in [(1, 1), (2, 1), (1, 2), (5, 1)] {
            let row = |(at, lines): (usize, &[&str])| {
                let number = if at % every == 0 { format!("{}. ", at + 1) } else { String::new() };
                number + &lines.concat() + "\n"
            };
            let text: String = lines.chunks(of).enumerate().map(row).collect();
            assert_eq!(poems(&text), [eight.as_str()], "{text}");
        }
    }
}
