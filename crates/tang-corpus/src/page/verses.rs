//! Lines of verse in a row.

use super::run::Run;

/// A line of verse as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verse {
    pub text: String,
    pub mark: Option<char>,
}

/// The lines of a row, or of several of the same kind.
#[derive(Debug, Clone)]
pub(crate) struct Verses {
    /// The titles before them in the row.
    pub titles: Vec<String>,
    /// Characters of a line.
    pub length: usize,
    /// Lines in each run of characters.
    pub in_run: usize,
    pub lines: Vec<Verse>,
}

impl Verses {
    /// The verse of a row: runs of equal length, each a line of 5 or 7 characters or a couplet,
    /// with or without a title before them. `None` for any other row.
    pub(crate) fn of(runs: &[Run]) -> Option<Self> {
        if runs.iter().any(|run| run.stray.is_some()) {
            return None;
        }
        let parts = |run: &Run| match run.shape() {
            Some(_) => vec![run.clone()],
            None => run.parts(),
        };
        let whole: Vec<Run> = runs.iter().flat_map(parts).collect();
        let cut: Vec<Run> = runs.iter().flat_map(Run::parts).collect();
        // A title may be as long as a line.
        let verse = |runs: &[Run]| {
            let has_title =
                |verses: &Self| is_before_verse(&runs[0]) && [5, 9].contains(&verses.lines.len());
            Self::alike(runs, &[1, 2]).filter(|verses| !has_title(verses))
        };
        verse(&whole)
            .or_else(|| verse(&cut))
            .or_else(|| Self::after_title(&whole))
            .or_else(|| Self::after_title(&cut))
    }

    /// A whole poem in one run, with no break at all.
    pub(crate) fn of_one_run(runs: &[Run]) -> Option<Self> {
        let is_one = runs.len() == 1 && runs[0].stray.is_none();
        is_one.then(|| Self::alike(runs, &[4, 8]))?
    }

    fn alike(runs: &[Run], in_run: &[usize]) -> Option<Self> {
        let (length, lines) = runs.first()?.shape()?;
        let fits = runs.iter().all(|run| run.shape() == Some((length, lines)));
        (fits && in_run.contains(&lines)).then(|| Self {
            titles: Vec::new(),
            length,
            in_run: lines,
            lines: runs.iter().flat_map(|run| cut(run, length)).collect(),
        })
    }

    fn after_title(runs: &[Run]) -> Option<Self> {
        runs.last()?.mark?;
        let most = runs.iter().take_while(|run| is_before_verse(run)).count();
        (1..=most).find_map(|titles| {
            let (titles, verse) = runs.split_at(titles);
            Some(Self {
                titles: titles.iter().map(Run::text).collect(),
                ..Self::alike(verse, &[1, 2])?
            })
        })
    }

    /// Whether there are as many lines as a whole poem has, 4 or 8.
    pub(crate) fn is_poem(&self) -> bool {
        [4, 8].contains(&self.lines.len())
    }

    /// Whether another row has the same length of lines and count of lines per run. Titles do not
    /// matter.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.length, self.in_run) == (other.length, other.in_run)
    }

    /// Whether this row can continue a poem after the row `other`.
    pub(crate) fn goes_on(&self, other: &Self) -> bool {
        self.is_like(other) && other.titles.is_empty()
    }
}

/// Whether a run may be a title before verse.
fn is_before_verse(run: &Run) -> bool {
    matches!(run.mark, None | Some('：'))
}

/// The lines of a run; its mark closes the last.
fn cut(run: &Run, length: usize) -> impl Iterator<Item = Verse> {
    let last = run.chars.len() / length - 1;
    let chunks = run.chars.chunks(length).enumerate();
    chunks.map(move |(index, chars)| Verse {
        text: chars.iter().map(|(_, c)| c).collect(),
        mark: run.mark.filter(|_| index == last),
    })
}
