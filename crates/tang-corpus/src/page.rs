//! A page of poems, as people type, paste and save them.

use tang_prosody::{COMMA, FULL_STOP};

use crate::{
    Unread, UnreadReason,
    page_row::{Row, Run},
    page_verse::{Verse, Verses, has_verse, is_title},
};

/// The ends of lines of a text file, a carriage return before a line feed apart.
const LINE_ENDS: [char; 7] = [
    '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
];

/// The most rows above a poem that are taken for its title.
const MOST_TITLES: usize = 4;

/// The texts of a page: poems, and what could be read as none.
///
/// An empty line ends a poem, if it is one by then. Its lines are closed by any mark or by the ends of equally long rows, each
/// alone, in couplets, or all in one row; a row with more than a couplet makes it and its neighbours
/// poems of one row each. Titles and authors above a poem are left out, as are notes in
/// brackets, numbers, quotation marks and spaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The texts in order.
    pub texts: Vec<PageText>,
    /// The parts that belong to no text.
    pub left_out: LeftOut,
}

/// One text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageText {
    /// The typed text: of a poem the characters and the marks, `，` and `。` where there are none; of
    /// another text all but the spaces.
    pub typed: String,
    /// The same closed by `，` and `。` in turn, or where it stops being a poem.
    pub poem: Result<String, Unread>,
}

/// The parts of a page that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Titles, authors and numbers of poems, a row each.
    pub titles: Vec<String>,
    /// The number of notes in brackets.
    pub notes: usize,
    /// The number of numbers.
    pub numbers: usize,
}

impl LeftOut {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.titles.is_empty() && self.notes + self.numbers == 0
    }
}

impl Page {
    /// Reads a page.
    pub fn read(text: &str) -> Self {
        let mut reader = Reader::default();
        let text = text.replace("\r\n", "\n");
        let mut blocks = vec![Vec::new()];
        for (number, line) in (1..).zip(text.split(LINE_ENDS)) {
            let mut row = Row::read(number, line);
            reader.page.left_out.notes += row.notes;
            reader.page.left_out.numbers += row.numbers;
            reader.page.left_out.titles.extend(row.take_author());
            let last = blocks.last_mut().expect("there is always one");
            if !row.is_blank() {
                last.push(row);
            } else if !is_left_out(&row) && !last.is_empty() {
                blocks.push(Vec::new());
            }
        }
        for block in joined_blocks(blocks) {
            reader.block(block);
        }
        reader.titles_are_texts();
        reader.page
    }
}

/// The blocks, of which those are one that make a poem only together: pages set an empty line between
/// couplets, and between lines.
fn joined_blocks(blocks: Vec<Vec<Row>>) -> Vec<Vec<Row>> {
    let pieces: Vec<Option<Verses>> = blocks.iter().map(|block| piece(block)).collect();
    let can_be_title = |block: &Vec<Row>| block.iter().all(is_title);
    let titles: Vec<bool> = blocks.iter().map(can_be_title).collect();
    let mut blocks = blocks.into_iter();
    let mut all: Vec<Vec<Row>> = Vec::new();
    let mut start = 0;
    while start < pieces.len() {
        let alike = |piece: &&Option<Verses>| match (&pieces[start], piece) {
            (Some(first), Some(next)) => next.goes_on(first),
            _ => false,
        };
        let count = pieces[start..].iter().take_while(alike).count().max(1);
        let run = pieces[start..start + count].iter().flatten();
        let lines: usize = run.map(|piece| piece.lines.len()).sum();
        let begins_with_title = titles[start];
        let mut run = blocks.by_ref().take(count);
        start += count;
        match lines {
            4 | 8 => all.push(run.flatten().collect()),
            // The title is as long as a line.
            5 | 9 if begins_with_title => {
                all.extend(run.next());
                all.push(run.flatten().collect());
            }
            _ => all.extend(run),
        }
    }
    all
}

/// The verse of a block that is part of a poem at most, titles above it apart.
fn piece(block: &[Row]) -> Option<Verses> {
    let verses: Vec<Option<Verses>> = block.iter().map(Verses::of).collect();
    let first = verses.iter().position(Option::is_some)?;
    let part = &verses[first..];
    let is_part = block[..first].iter().all(is_title) && part.iter().all(Option::is_some);
    let verses = is_part.then(|| joined(part))?;
    (verses.lines.len() <= 2).then_some(verses)
}

/// Whether a row without verse had something else, and is no empty line between two poems, or the number
/// of the second.
fn is_left_out(row: &Row) -> bool {
    row.notes > 0 && !row.is_numbered
}

#[derive(Default)]
struct Reader {
    page: Page,
    /// Rows that are titles if a poem follows, and texts of their own if not.
    titles: Vec<Vec<Row>>,
}

impl Reader {
    /// Reads rows without an empty line between them.
    fn block(&mut self, mut rows: Vec<Row>) {
        let verses: Vec<Option<Verses>> = rows.iter().map(Verses::of).collect();
        let is_whole = |verses: &Option<Verses>| verses.as_ref().is_some_and(Verses::is_poem);
        let one_run: Vec<Option<Verses>> = rows.iter().map(Verses::of_one_run).collect();
        let can_be_title = |place: usize| verses[place].is_none() && is_title(&rows[place]);
        let mut places = 0..rows.len();
        if one_run.iter().any(Option::is_some)
            && places.all(|place| one_run[place].is_some() || can_be_title(place))
        {
            self.each(rows, &one_run);
        } else if verses.iter().any(is_whole) {
            self.each(rows, &verses);
        } else {
            let start = self.poems(&rows, &verses);
            self.rest(rows.split_off(start), &verses[start..]);
        }
    }

    /// Reads poems of one row each.
    fn each(&mut self, rows: Vec<Row>, verses: &[Option<Verses>]) {
        for (row, verses) in rows.into_iter().zip(verses) {
            match verses {
                Some(verses) if verses.is_poem() => self.poem(verses.clone()),
                _ if is_title(&row) => self.titles.push(vec![row]),
                _ => self.text(vec![row]),
            }
        }
    }

    /// Reads poems of several rows each, with titles between them, as long as there is one. The number of
    /// rows that were read.
    fn poems(&mut self, rows: &[Row], verses: &[Option<Verses>]) -> usize {
        let mut start = 0;
        loop {
            let titles = titles_at(start, rows, verses);
            let poem = (0..=titles).find_map(|titles| {
                let end = poem_at(start + titles, rows, verses)?;
                let poem = joined(&verses[start + titles..end]);
                // A couplet is no title of others.
                let is_couplet = |above: &Verses| above.in_run == 2 && above.goes_on(&poem);
                let mut above = verses[start..start + titles].iter().flatten();
                (!above.any(is_couplet)).then_some((titles, end))
            });
            let Some((titles, end)) = poem else {
                return start;
            };
            let poem = start + titles;
            self.titles.push(rows[start..poem].to_vec());
            self.poem(joined(&verses[poem..end]));
            start = end;
        }
    }

    /// Reads rows that do not begin with a poem.
    fn rest(&mut self, rows: Vec<Row>, verses: &[Option<Verses>]) {
        if rows.is_empty() {
            return;
        }
        if titles_at(0, &rows, verses) == rows.len() {
            self.titles.push(rows);
        } else if rows.iter().any(|row| row.marks() > 2) {
            self.each(rows, verses);
        } else {
            self.text(rows);
        }
    }

    fn poem(&mut self, verses: Verses) {
        self.leave_titles_out();
        self.page.left_out.titles.extend(verses.titles);
        let closed = |mark_of: fn(&Verse, char) -> char| -> String {
            let marks = [COMMA, FULL_STOP].into_iter().cycle();
            let lines = verses.lines.iter().zip(marks);
            lines
                .map(|(line, mark)| format!("{}{}", line.text, mark_of(line, mark)))
                .collect()
        };
        self.page.texts.push(PageText {
            typed: closed(|line, mark| line.mark.unwrap_or(mark)),
            poem: Ok(closed(|_, mark| mark)),
        });
    }

    /// Rows that are no poem. Titles above them are left out, if there is verse in them at all.
    fn text(&mut self, mut rows: Vec<Row>) {
        if rows.iter().any(has_verse) {
            let titles = rows.iter().take_while(|row| is_title(row)).count();
            let rest = rows.split_off(titles);
            self.titles.push(rows);
            self.leave_titles_out();
            rows = rest;
        } else {
            self.titles_are_texts();
        }
        let unread = unread(&rows);
        self.page.texts.push(PageText {
            typed: rows.into_iter().map(|row| row.text).collect(),
            poem: Err(unread),
        });
    }

    fn leave_titles_out(&mut self) {
        let rows = std::mem::take(&mut self.titles).into_iter().flatten();
        let titles = rows.map(|row| row.text);
        self.page.left_out.titles.extend(titles);
    }

    fn titles_are_texts(&mut self) {
        for rows in std::mem::take(&mut self.titles) {
            // 杜甫《春望》 may stand below its poem.
            let names_work = rows.iter().all(|row| row.text.contains('《'));
            if names_work && !self.page.texts.is_empty() {
                let titles = rows.into_iter().map(|row| row.text);
                self.page.left_out.titles.extend(titles);
                continue;
            }
            self.page.texts.push(PageText {
                typed: rows.iter().map(|row| row.text.as_str()).collect(),
                poem: Err(unread(&rows)),
            });
        }
    }
}

/// How many rows from `start` can be titles: one of them may look like verse, as 寻隐者不遇 does.
fn titles_at(start: usize, rows: &[Row], verses: &[Option<Verses>]) -> usize {
    let mut like_verse = 0;
    let ahead = rows[start..].iter().zip(&verses[start..]);
    ahead
        .take(MOST_TITLES)
        .take_while(|(row, verses)| {
            like_verse += usize::from(verses.is_some());
            is_title(row) && like_verse <= 1
        })
        .count()
}

/// The end of the poem that begins at `start`; `None` if there is none.
fn poem_at(start: usize, rows: &[Row], verses: &[Option<Verses>]) -> Option<usize> {
    let first = verses.get(start)?.as_ref()?;
    let has_title = |row: usize| {
        let verses = verses.get(row).and_then(Option::as_ref);
        verses.is_some_and(|verses| !verses.titles.is_empty())
    };
    // Every row has one, as 首联： or none but the first.
    let titled = has_title(start) && has_title(start + 1);
    let goes_on = |verses: &&Option<Verses>| {
        let is_next = |next: &Verses| first.is_like(next) && next.titles.is_empty() != titled;
        verses.as_ref().is_some_and(is_next)
    };
    let ahead = start + 1 + verses[start + 1..].iter().take_while(goes_on).count();
    // The next number begins another poem, unless it counts lines.
    let next = (start + 1..ahead).find(|row| rows[start].is_numbered && rows[*row].is_numbered);
    let parts_poems = |next: &usize| *next > start + 1 && joined(&verses[start..*next]).is_poem();
    let next = next.filter(parts_poems);
    let end = next.unwrap_or(ahead);
    // A line that was spoiled belongs to the poem, and spoils it.
    let is_spoiled = |row: &Row| {
        let near = |run: &Run| run.chars.len().abs_diff(first.length) <= 2;
        row.marks() > 0 && row.runs.iter().all(near)
    };
    let ends = next.is_some() || has_title(end) || rows.get(end).is_none_or(|row| !is_spoiled(row));
    (ends && joined(&verses[start..end]).is_poem()).then_some(end)
}

/// The lines of several rows.
fn joined(rows: &[Option<Verses>]) -> Verses {
    let mut rows = rows.iter().flatten().cloned();
    let first = rows.next().expect("a poem has a row");
    rows.fold(first, |mut all, next| {
        all.titles.extend(next.titles);
        all.lines.extend(next.lines);
        all
    })
}

/// The first place where these rows stop being a poem.
fn unread(rows: &[Row]) -> Unread {
    let runs = || {
        rows.iter()
            .flat_map(|row| row.runs.iter().map(move |run| (row.number, run)))
    };
    let lines = |run: &Run, length: usize| {
        let got = run.chars.len();
        [1, 2].into_iter().find(|lines| got == lines * length)
    };
    let of_length = |length| {
        runs()
            .filter(|(_, run)| lines(run, length).is_some())
            .count()
    };
    let (fives, sevens) = (of_length(5), of_length(7));
    let wanted = (fives + sevens > 0).then_some(if fives < sevens { 7 } else { 5 });
    let mut found = 0;
    for (line, run) in runs() {
        if let Some((place, c)) = run.stray {
            return place_of(line, place, c.to_string(), UnreadReason::Stray(c));
        }
        match wanted.and_then(|length| lines(run, length)) {
            Some(lines) => found += lines,
            None => {
                let got = run.chars.len();
                let reason = UnreadReason::Length { got, wanted };
                return place_of(line, run.chars[0].0, run.text(), reason);
            }
        }
    }
    let (line, last) = runs().last().expect("a row that is not blank has a run");
    let reason = UnreadReason::Lines {
        got: found,
        length: wanted.unwrap_or_default(),
    };
    place_of(line, last.chars[0].0, last.text(), reason)
}

fn place_of(line: usize, character: u32, text: String, reason: UnreadReason) -> Unread {
    Unread {
        line,
        character: character as usize,
        text,
        reason,
    }
}
