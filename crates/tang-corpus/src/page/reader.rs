//! Finds the poems in the rows of a page.

use std::mem;

use tang_prosody::{COMMA, FULL_STOP};

use super::{
    Page, PageText, Unread,
    row::Row,
    run::Run,
    verses::{Verse, Verses},
};

/// The characters that end a line of a text file. A carriage return with a line feed after it is
/// one end.
const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The most rows above a poem that are taken for its title.
const MOST_TITLES: usize = 4;

/// Reads a page.
pub(crate) fn read(text: &str) -> Page {
    let mut reader = Reader::default();
    let left_out = &mut reader.page.left_out;
    let mut blocks: Vec<Vec<Row>> = vec![Vec::new()];
    for (number, line) in (1..).zip(text.replace("\r\n", "\n").split(LINE_ENDS)) {
        let mut row = Row::read(number, line);
        left_out.notes += row.notes;
        left_out.numbers += row.numbers;
        left_out.titles.extend(row.author.take());
        // A row of notes is no empty line between two poems, unless it has the number of the second.
        let is_note = row.notes > 0 && !row.is_numbered;
        let last = blocks.last_mut().expect("there is always one");
        if !row.is_blank() {
            last.push(row);
        } else if !is_note && !last.is_empty() {
            blocks.push(Vec::new());
        }
    }
    for block in joined_blocks(blocks) {
        reader.block(block);
    }
    reader.titles_are_texts();
    reader.page
}

/// Joins neighbouring blocks that are a poem only together: some pages have an empty line between
/// couplets or between lines.
fn joined_blocks(blocks: Vec<Vec<Row>>) -> Vec<Vec<Row>> {
    let pieces: Vec<Option<Verses>> = blocks.iter().map(|block| piece(block)).collect();
    let mut pieces = &pieces[..];
    let mut blocks = blocks.into_iter();
    let mut all: Vec<Vec<Row>> = Vec::new();
    while let Some(first) = pieces.first() {
        let alike = |piece: &&Option<Verses>| {
            let pair = first.as_ref().zip(piece.as_ref());
            pair.is_some_and(|(first, next)| next.goes_on(first))
        };
        let count = pieces.iter().take_while(alike).count().max(1);
        let (run, rest) = pieces.split_at(count);
        pieces = rest;
        let lines: usize = run.iter().flatten().map(|piece| piece.lines.len()).sum();
        let mut run = blocks.by_ref().take(count).peekable();
        let begins_with_title = run.peek().is_some_and(|block| block.iter().all(Row::is_title));
        match lines {
            4 | 8 => all.push(run.flatten().collect()),
            // One of the lines is a title that is as long as a line of verse.
            5 | 9 if begins_with_title => {
                all.extend(run.next());
                all.push(run.flatten().collect());
            }
            _ => all.extend(run),
        }
    }
    all
}

/// The one or two lines of verse of a block, which may have titles above them; `None` for any other
/// block.
fn piece(block: &[Row]) -> Option<Verses> {
    let first = block.iter().position(|row| row.verses.is_some())?;
    let (above, part) = block.split_at(first);
    let is_part = above.iter().all(Row::is_title) && part.iter().all(|row| row.verses.is_some());
    let verses = is_part.then(|| joined(part));
    verses.filter(|verses| verses.lines.len() <= 2)
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
        let one_run: Vec<Option<Verses>> =
            rows.iter().map(|row| Verses::of_one_run(&row.runs)).collect();
        let can_be_title = |row: &Row| row.verses.is_none() && row.is_title();
        let mut both = rows.iter().zip(&one_run);
        if one_run.iter().any(Option::is_some)
            && both.all(|(row, one_run)| one_run.is_some() || can_be_title(row))
        {
            for (row, one_run) in rows.iter_mut().zip(one_run) {
                row.verses = one_run;
            }
            self.each(rows);
        } else if rows.iter().any(|row| row.verses.as_ref().is_some_and(Verses::is_poem)) {
            self.each(rows);
        } else {
            let start = self.poems(&rows);
            self.rest(rows.split_off(start));
        }
    }

    /// Reads poems of one row each.
    fn each(&mut self, rows: Vec<Row>) {
        for row in rows {
            match row.verses {
                Some(verses) if verses.is_poem() => self.poem(verses),
                _ if row.is_title() => self.titles.push(vec![row]),
                _ => self.text(vec![row]),
            }
        }
    }

    /// Reads poems of several rows each, with titles between them, until the rows begin with no
    /// poem. Returns the count of rows that were read.
    fn poems(&mut self, rows: &[Row]) -> usize {
        let mut rest = rows;
        while let Some((titles, poem)) = next_poem(rest) {
            self.titles.push(titles.to_vec());
            self.poem(joined(poem));
            rest = &rest[titles.len() + poem.len()..];
        }
        rows.len() - rest.len()
    }

    /// Reads rows that do not begin with a poem.
    fn rest(&mut self, rows: Vec<Row>) {
        if rows.is_empty() {
            return;
        }
        if titles_at(&rows) == rows.len() {
            self.titles.push(rows);
        } else if rows.iter().any(|row| row.marks() > 2) {
            self.each(rows);
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
            lines.map(|(line, mark)| format!("{}{}", line.text, mark_of(line, mark))).collect()
        };
        self.page.texts.push(PageText {
            typed: closed(|line, mark| line.mark.unwrap_or(mark)),
            poem: Ok(closed(|_, mark| mark)),
        });
    }

    /// Reads rows that are no poem. Titles above them are left out, if the rows have any line of
    /// verse.
    fn text(&mut self, mut rows: Vec<Row>) {
        if rows.iter().any(Row::has_verse) {
            let titles = rows.iter().take_while(|row| row.is_title()).count();
            let rest = rows.split_off(titles);
            self.titles.push(rows);
            self.leave_titles_out();
            rows = rest;
        } else {
            self.titles_are_texts();
        }
        self.push_unread(&rows);
    }

    fn push_unread(&mut self, rows: &[Row]) {
        self.page.texts.push(PageText {
            typed: rows.iter().map(|row| row.text.as_str()).collect(),
            poem: Err(Unread::of(rows)),
        });
    }

    fn leave_titles_out(&mut self) {
        let rows = mem::take(&mut self.titles).into_iter().flatten();
        self.page.left_out.titles.extend(rows.map(|row| row.text));
    }

    fn titles_are_texts(&mut self) {
        for rows in mem::take(&mut self.titles) {
            // 杜甫《春望》 may be below its poem.
            let names_work = rows.iter().all(|row| row.text.contains('《'));
            if names_work && !self.page.texts.is_empty() {
                let titles = rows.into_iter().map(|row| row.text);
                self.page.left_out.titles.extend(titles);
            } else {
                self.push_unread(&rows);
            }
        }
    }
}

/// The titles and the poem that these rows begin with.
fn next_poem(rows: &[Row]) -> Option<(&[Row], &[Row])> {
    (0..=titles_at(rows)).find_map(|titles| {
        let (titles, rest) = rows.split_at(titles);
        let poem = &rest[..poem_at(rest)?];
        // A couplet is no title of others.
        let verses = joined(poem);
        let is_couplet = |above: &Verses| above.in_run == 2 && above.goes_on(&verses);
        let mut above = titles.iter().filter_map(|row| row.verses.as_ref());
        (!above.any(is_couplet)).then_some((titles, poem))
    })
}

/// Count of the first rows that can be titles. One of them may look like verse, as 寻隐者不遇 does.
fn titles_at(rows: &[Row]) -> usize {
    let mut like_verse = 0;
    let ahead = rows.iter().take(MOST_TITLES);
    ahead
        .take_while(|row| {
            like_verse += usize::from(row.verses.is_some());
            row.is_title() && like_verse <= 1
        })
        .count()
}

/// Count of the rows of the poem that these begin with; `None` if there is none.
fn poem_at(rows: &[Row]) -> Option<usize> {
    let verses = |row: usize| rows.get(row).and_then(|row| row.verses.as_ref());
    let first = verses(0)?;
    let has_title = |row| verses(row).is_some_and(|verses| !verses.titles.is_empty());
    // Either every row has a title, such as 首联：, or only the first.
    let titled = has_title(0) && has_title(1);
    let goes_on = |row: &usize| {
        let is_next = |next: &Verses| first.is_like(next) && next.titles.is_empty() != titled;
        verses(*row).is_some_and(is_next)
    };
    let ahead = 1 + (1..rows.len()).take_while(goes_on).count();
    // The next number begins another poem, unless it counts lines.
    let next = (1..ahead).find(|row| rows[0].is_numbered && rows[*row].is_numbered);
    let next = next.filter(|next| *next > 1 && joined(&rows[..*next]).is_poem());
    let end = next.unwrap_or(ahead);
    // The next row is a line of this poem with a wrong length: then the rows are no poem.
    let is_spoiled = |row: &Row| {
        let near = |run: &Run| run.chars.len().abs_diff(first.length) <= 2;
        row.marks() > 0 && row.runs.iter().all(near)
    };
    let ends = next.is_some() || has_title(end) || rows.get(end).is_none_or(|row| !is_spoiled(row));
    (ends && joined(&rows[..end]).is_poem()).then_some(end)
}

/// The lines of several rows of verse.
fn joined(rows: &[Row]) -> Verses {
    let mut rows = rows.iter().filter_map(|row| row.verses.clone());
    let first = rows.next().expect("a poem has a row");
    rows.fold(first, |mut all, next| {
        all.titles.extend(next.titles);
        all.lines.extend(next.lines);
        all
    })
}
