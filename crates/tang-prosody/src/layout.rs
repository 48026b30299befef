//! The places of characters, marks and the end in a poem of given lines.

use crate::{COMMA, FULL_STOP, Form, LineLength};

/// The content of one position of a poem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A Han character: the `column`-th of line `line`, both counted from 0.
    Han {
        /// The line.
        line: usize,
        /// The place in the line.
        column: usize,
    },
    /// The mark that closes a line.
    Mark(char),
    /// The end of the poem.
    End,
}

/// Any number of lines of one length, closed by `，` and `。` in turn, the last one always by `。`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    lines: usize,
    line_length: LineLength,
}

impl Layout {
    /// A layout of `lines` lines of this length.
    pub const fn new(lines: usize, line_length: LineLength) -> Self {
        Self { lines, line_length }
    }

    /// Count of lines.
    pub const fn lines(&self) -> usize {
        self.lines
    }

    /// The length of every line.
    pub const fn line_length(&self) -> LineLength {
        self.line_length
    }

    /// Count of characters, marks counted.
    pub const fn char_count(&self) -> usize {
        self.lines * (self.line_length.chars() + 1)
    }

    /// The position of the character in this line and column, all counted from 0.
    pub const fn position(&self, line: usize, column: usize) -> usize {
        line * (self.line_length.chars() + 1) + column
    }

    /// The content of `position`, counted from 0.
    pub const fn slot(&self, position: usize) -> Slot {
        let stride = self.line_length.chars() + 1;
        let (line, column) = (position / stride, position % stride);
        if line >= self.lines {
            Slot::End
        } else if column < self.line_length.chars() {
            Slot::Han { line, column }
        } else if line.is_multiple_of(2) && line + 1 < self.lines {
            Slot::Mark(COMMA)
        } else {
            Slot::Mark(FULL_STOP)
        }
    }
}

impl From<Form> for Layout {
    fn from(form: Form) -> Self {
        Self::new(form.lines(), form.line_length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(layout: Layout) -> String {
        (0..=layout.char_count())
            .map(|position| match layout.slot(position) {
                Slot::Han { line, column } => {
                    char::from_digit(((line + column) % 10) as u32, 10).unwrap()
                }
                Slot::Mark(mark) => mark,
                Slot::End => '|',
            })
            .collect()
    }

    #[test]
    fn marks_alternate_and_the_last_line_ends_the_poem() {
        assert_eq!(drawn(Form::WuJue.into()), "01234，12345。23456，34567。|");
        assert_eq!(drawn(Layout::new(1, LineLength::Seven)), "0123456。|");
        assert_eq!(drawn(Layout::new(3, LineLength::Five)), "01234，12345。23456。|");
    }
}
