//! Which rows of a page are verse.

use crate::page_row::{Row, Run};

/// The longest title that is taken for one, in Han characters.
const LONGEST_TITLE: usize = 40;

/// A line of verse as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verse {
    pub(crate) text: String,
    pub(crate) mark: Option<char>,
}

/// The lines of a row, or of several of the same kind.
#[derive(Debug, Clone)]
pub(crate) struct Verses {
    /// The titles before them in the row.
    pub(crate) titles: Vec<String>,
    /// The characters of a line.
    pub(crate) length: usize,
    /// The lines in each run of characters.
    pub(crate) in_run: usize,
    /// The lines.
    pub(crate) lines: Vec<Verse>,
}

impl Verses {
    /// The verse of a row: runs of 5 or 7 characters, or of a couplet, one like the other, behind a title at
    /// most. `None` if it is something else.
    pub(crate) fn of(row: &Row) -> Option<Self> {
        if row.runs.iter().any(|run| run.stray.is_some()) {
            return None;
        }
        let parts = |run: &Run| match shape(run) {
            Some(_) => vec![run.clone()],
            None => run.parts(),
        };
        let whole: Vec<Run> = row.runs.iter().flat_map(parts).collect();
        let cut: Vec<Run> = row.runs.iter().flat_map(Run::parts).collect();
        // A title may be as long as a line.
        let verse = |runs: &[Run]| {
            let has_title = |verses: &Self| {
                matches!(runs[0].mark, None | Some('：')) && [5, 9].contains(&verses.lines.len())
            };
            Self::alike(runs, &[1, 2]).filter(|verses| !has_title(verses))
        };
        verse(&whole)
            .or_else(|| verse(&cut))
            .or_else(|| Self::behind_title(&whole))
            .or_else(|| Self::behind_title(&cut))
    }

    /// A whole poem in one run, with no break at all.
    pub(crate) fn of_one_run(row: &Row) -> Option<Self> {
        let is_one = row.runs.len() == 1 && row.runs[0].stray.is_none();
        is_one.then(|| Self::alike(&row.runs, &[4, 8]))?
    }

    fn alike(runs: &[Run], in_run: &[usize]) -> Option<Self> {
        let (length, lines) = shape(runs.first()?)?;
        let fits = runs.iter().all(|run| shape(run) == Some((length, lines)));
        (fits && in_run.contains(&lines)).then(|| Self {
            titles: Vec::new(),
            length,
            in_run: lines,
            lines: runs.iter().flat_map(|run| cut(run, length)).collect(),
        })
    }

    fn behind_title(runs: &[Run]) -> Option<Self> {
        let is_title = |run: &Run| matches!(run.mark, None | Some('：'));
        let most = runs.iter().take_while(|run| is_title(run)).count();
        let closes = runs.last()?.mark.is_some();
        let found = (1..=most).filter(|_| closes).find_map(|titles| {
            let verses = Self::alike(&runs[titles..], &[1, 2])?;
            Some((titles, verses))
        });
        found.map(|(titles, verses)| Self {
            titles: runs[..titles].iter().map(Run::text).collect(),
            ..verses
        })
    }

    /// Whether it is a whole poem.
    pub(crate) fn is_poem(&self) -> bool {
        [4, 8].contains(&self.lines.len())
    }

    /// Whether the lines of another row are as these, titles apart.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.length, self.in_run) == (other.length, other.in_run)
    }

    /// Whether rows like `other` can go on with it.
    pub(crate) fn goes_on(&self, other: &Self) -> bool {
        self.is_like(other) && other.titles.is_empty()
    }
}

/// The length of a run's lines, and their number.
fn shape(run: &Run) -> Option<(usize, usize)> {
    let got = run.chars.len();
    let lines = |length| [1, 2, 4, 8].into_iter().find(|lines| got == lines * length);
    [5, 7]
        .into_iter()
        .find_map(|length| Some((length, lines(length)?)))
}

/// The lines of a run; its mark closes the last.
fn cut(run: &Run, length: usize) -> Vec<Verse> {
    let chunks = run.chars.chunks(length);
    let last = chunks.len() - 1;
    chunks
        .enumerate()
        .map(|(index, chars)| Verse {
            text: chars.iter().map(|(_, c)| c).collect(),
            mark: run.mark.filter(|_| index == last),
        })
        .collect()
}

/// Whether a mark closes the run, and no colon, as behind a title.
fn is_closed(run: &Run) -> bool {
    run.mark.is_some_and(|mark| mark != '：')
}

/// Whether a row can be a title, an author, the number of a poem: no mark closes it, and no line of verse
/// stands in it.
pub(crate) fn is_title(row: &Row) -> bool {
    let is_verse = |run: &Run| is_closed(run) && shape(run).is_some();
    let characters: usize = row.runs.iter().map(|run| run.chars.len()).sum();
    !row.runs.last().is_none_or(is_closed)
        && !row.runs.iter().any(is_verse)
        && characters <= LONGEST_TITLE
        && !row.text.chars().any(char::is_control)
}

/// Whether a line of verse stands in the row, closed by a mark.
pub(crate) fn has_verse(row: &Row) -> bool {
    let mut runs = row.runs.iter();
    runs.any(|run| is_closed(run) && matches!(run.chars.len(), 5 | 7))
}
