//! A poem with some given characters.

use crate::{Layout, LineLength, PlacedCharacter, ProsodyError, Slot, is_han, line_mark};

/// Characters that mark a free place in a template.
const FREE: [char; 3] = ['*', '＊', '□'];

/// The ends of lines without a mark.
const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// The lines of a poem, with the characters that are fixed beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    layout: Layout,
    /// One entry per position of the text, marks included.
    fixed: Vec<Option<char>>,
}

impl Template {
    /// Lines without fixed characters.
    pub fn free(layout: Layout) -> Self {
        Self { layout, fixed: vec![None; layout.char_count()] }
    }

    /// Character `i` is in line `i`, at `column` counted from 0: 藏头 at the first, 藏尾 at the last, 藏中 between.
    ///
    /// # Errors
    ///
    /// [`ProsodyError::NotHan`] naming the characters that are not Han.
    ///
    /// # Panics
    ///
    /// If there is not one character per line, or the lines have no such column.
    pub fn acrostic(characters: &str, layout: Layout, column: usize) -> Result<Self, ProsodyError> {
        let count = characters.chars().count();
        assert_eq!(count, layout.lines(), "one character a line");
        assert!(column < layout.line_length().chars(), "no column {column}");
        ensure_allowed(characters, is_han)?;
        let mut template = Self::free(layout);
        for (line, character) in characters.chars().enumerate() {
            template.fixed[layout.position(line, column)] = Some(character);
        }
        Ok(template)
    }

    /// Reads a template such as `春****，眠****。`: `*` is free, a Han character is fixed, and each line may be
    /// closed by any mark, space or line break.
    ///
    /// # Errors
    ///
    /// [`ProsodyError::NotHan`] for anything else in it; [`ProsodyError::EmptyTemplate`] if it has
    /// no line; [`ProsodyError::LineLength`] or [`ProsodyError::UnevenTemplate`] for lines of
    /// another length than 5 or 7, or of different lengths.
    pub fn parse(text: &str) -> Result<Self, ProsodyError> {
        ensure_allowed(text, Self::allows)?;
        let is_end = |c: char| line_mark(c).is_some() || LINE_ENDS.contains(&c);
        let lines: Vec<Vec<char>> = text
            .split(is_end)
            .flat_map(|line| {
                let together: Vec<char> = line.chars().filter(|c| !c.is_whitespace()).collect();
                // Spaces separate lines, or the characters of one.
                match together.len() {
                    5 | 7 => vec![together],
                    _ => line.split_whitespace().map(|line| line.chars().collect()).collect(),
                }
            })
            .collect();
        let Some(first) = lines.first() else {
            return Err(ProsodyError::EmptyTemplate);
        };
        let line_length: LineLength = first.len().to_string().parse()?;
        let layout = Layout::new(lines.len(), line_length);
        let mut template = Self::free(layout);
        for (line, characters) in lines.iter().enumerate() {
            if characters.len() != first.len() {
                return Err(ProsodyError::UnevenTemplate {
                    line: line + 1,
                    length: characters.len(),
                    first: first.len(),
                });
            }
            for (column, character) in characters.iter().enumerate() {
                let position = layout.position(line, column);
                template.fixed[position] = Some(*character).filter(|c| !FREE.contains(c));
            }
        }
        Ok(template)
    }

    /// Whether [`parse`](Self::parse) takes this character: Han, free, or one that closes a line.
    pub fn allows(character: char) -> bool {
        is_han(character) || FREE.contains(&character) || closes_line(character)
    }

    /// The template with these characters side by side from `position` of the text on; `None` if a mark is there or
    /// another character is fixed.
    pub fn with(&self, position: usize, characters: &[char]) -> Option<Self> {
        let mut template = self.clone();
        for (position, character) in (position..).zip(characters) {
            let is_han = matches!(self.layout.slot(position), Slot::Han { .. });
            if !is_han || self.fixed[position].is_some_and(|fixed| fixed != *character) {
                return None;
            }
            template.fixed[position] = Some(*character);
        }
        Some(template)
    }

    /// The first position of these characters, fixed side by side in one line.
    pub fn find(&self, characters: &[char]) -> Option<usize> {
        let mut windows = self.fixed.windows(characters.len());
        windows.position(|window| window.iter().flatten().eq(characters) && !window.contains(&None))
    }

    /// The lines.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The fixed characters with their lines and columns, in order.
    pub fn fixed(&self) -> impl Iterator<Item = (usize, usize, char)> {
        let places = self.fixed.iter().enumerate();
        places.filter_map(|(position, character)| match self.layout.slot(position) {
            Slot::Han { line, column } => Some((line, column, (*character)?)),
            _ => None,
        })
    }
}

fn closes_line(character: char) -> bool {
    character.is_whitespace() || line_mark(character).is_some()
}

fn ensure_allowed(text: &str, is_allowed: fn(char) -> bool) -> Result<(), ProsodyError> {
    let characters = PlacedCharacter::all_in(text, |c| !is_allowed(c));
    if characters.is_empty() {
        return Ok(());
    }
    Err(ProsodyError::NotHan { characters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    fn drawn(template: &Template) -> String {
        let mut text = vec!['*'; template.layout.char_count()];
        for (line, column, character) in template.fixed() {
            text[template.layout.position(line, column)] = character;
        }
        (0..)
            .zip(text)
            .map(|(position, c)| match template.layout.slot(position) {
                Slot::Mark(mark) => mark,
                _ => c,
            })
            .collect()
    }

    #[test]
    fn an_acrostic_fixes_one_column() {
        for (column, wanted) in [
            (0, "春****，眠****。不****，觉****。"),
            (2, "**春**，**眠**。**不**，**觉**。"),
            (4, "****春，****眠。****不，****觉。"),
        ] {
            let template = Template::acrostic("春眠不觉", Form::WuJue.into(), column).unwrap();
            assert_eq!(drawn(&template), wanted);
            assert_eq!(Template::parse(wanted).unwrap(), template);
        }
    }

    #[test]
    fn a_word_is_added_within_a_line_and_found() {
        let template = Template::parse("春****，眠****。").unwrap();
        let word = ['春', '风'];
        for (position, wanted) in [
            (0, Some("春风***，眠****。")),
            (3, Some("春**春风，眠****。")),
            (4, None),
            (5, None),
            (6, None),
            (10, None),
            (9, Some("春****，眠**春风。")),
        ] {
            let added = template.with(position, &word);
            assert_eq!(added.as_ref().map(drawn).as_deref(), wanted, "{position}");
            assert_eq!(added.and_then(|added| added.find(&word)), wanted.map(|_| position));
        }
        assert_eq!((template.find(&word), template.find(&['眠'])), (None, Some(6)));
        assert_eq!(template.find(&['春', '眠']), None, "not across a mark");
    }

    #[test]
    fn every_character_that_cannot_stand_is_named() {
        let heads = Template::acrostic("a春，", Layout::new(3, LineLength::Five), 0);
        let template = Template::parse("春**a*，\n春🙂***。");
        for (error, wanted) in [
            (heads, [(1, 'a', "0061"), (3, '，', "FF0C")]),
            (template, [(4, 'a', "0061"), (9, '🙂', "1F642")]),
        ] {
            let [first, second] = wanted.map(|(position, c, code_point)| {
                format!("character {position} of the text, `{c}` (U+{code_point})")
            });
            assert_eq!(
                error.unwrap_err().to_string(),
                format!("{first}, and {second}, cannot stand in a line: use Han characters only")
            );
        }
    }

    #[test]
    fn reads_what_people_type() {
        let wanted = Template::parse("春****，眠****。").unwrap();
        for text in [
            "春****\n眠****",
            "春＊＊＊＊,眠□□□□.",
            " 春**** 眠**** ",
            "春****？眠****！",
            "春****:眠****;",
            "春****：\r\n眠****、\r\n",
            "春****\r眠****\r",
            "春 * * * *，眠 * * * *。",
            "春 * * * *\n眠 * * * *\n",
        ] {
            assert_eq!(Template::parse(text).unwrap(), wanted, "{text}");
        }
        assert_eq!(wanted.layout(), Layout::new(2, LineLength::Five));
    }

    #[test]
    fn refuses_what_is_no_verse() {
        for (text, wanted) in [
            ("", "empty"),
            ("，。", "empty"),
            ("春***", "4 characters"),
            ("春****，眠******。", "line 2 has 7 characters, line 1 has 5"),
            ("春**a*", "`a`"),
        ] {
            let error = Template::parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
