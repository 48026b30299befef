//! Han characters between two marks.

/// Numerals in the numbers of poems.
pub(crate) const NUMERALS: &str = "〇零一二三四五六七八九十百";

/// Han characters up to a mark, or up to the end of the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    /// The characters, each with its place in the row, counted from 1.
    pub chars: Vec<(usize, char)>,
    /// The indices of characters with a space, quotation mark or the like before them.
    pub gaps: Vec<usize>,
    /// The mark that closes it, in full width.
    pub mark: Option<char>,
    /// The first character that cannot be in a poem, with its place.
    pub stray: Option<(usize, char)>,
    /// Whether the run comes after a dash, as the name of an author does.
    pub after_dash: bool,
}

impl Run {
    /// The characters.
    pub(crate) fn text(&self) -> String {
        self.chars.iter().map(|(_, c)| c).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chars.is_empty() && self.stray.is_none()
    }

    /// Whether the run is the number of a poem: 一、 or 其二：
    pub(crate) fn is_number(&self) -> bool {
        let text = self.text();
        let numeral = text.strip_prefix('其').unwrap_or(&text);
        matches!(self.mark, Some('、' | '：' | '。'))
            && (1..=3).contains(&numeral.chars().count())
            && numeral.chars().all(|c| NUMERALS.contains(c))
    }

    /// Whether a mark closes the run, other than the colon after a title.
    pub(crate) fn is_closed(&self) -> bool {
        self.mark.is_some_and(|mark| mark != '：')
    }

    /// The length and the count of the lines, if the run is verse.
    pub(crate) fn shape(&self) -> Option<(usize, usize)> {
        let got = self.chars.len();
        let lines = |length| [1, 2, 4, 8].into_iter().find(|lines| got == lines * length);
        let mut lengths = [5, 7].into_iter();
        lengths.find_map(|length| Some((length, lines(length)?)))
    }

    /// The run cut at its gaps; the mark is that of the last part.
    pub(crate) fn parts(&self) -> Vec<Run> {
        let all = self.chars.len();
        let starts = [0].into_iter().chain(self.gaps.iter().copied());
        let ends = self.gaps.iter().copied().chain([all]);
        let part = |(start, end): (usize, usize)| Run {
            chars: self.chars[start..end].to_vec(),
            mark: self.mark.filter(|_| end == all),
            after_dash: self.after_dash,
            ..Run::default()
        };
        starts.zip(ends).map(part).collect()
    }
}
