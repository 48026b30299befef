//! Poems from text, as people and `tang` write it.

use std::{io, path::Path};

use anyhow::{Context, Result, bail};
use tang_corpus::{LeftOut, Page};
use tang_files::{escape_value, read_bounded, read_stream_bounded};

/// The most titles that a note names.
const NAMED: usize = 3;

/// The poems of a file, or of stdin for `-`; an error if there is none.
pub fn read_page(path: &Path) -> Result<Page> {
    let (path, bytes) = if path == "-" {
        (Path::new("stdin"), read_stream_bounded(io::stdin().lock()))
    } else {
        (path, read_bounded(path))
    };
    let name = path.display();
    let bytes = bytes.with_context(|| format!("cannot read {name}"))?;
    let page = Page::of_file(path, &bytes)?;
    if page.texts.is_empty() && page.left_out.is_empty() {
        bail!("{name} has no poem: it is empty");
    }
    if page.texts.is_empty() {
        bail!("{name} has no poem: it has {}", left_out(&page.left_out));
    }
    Ok(page)
}

/// The parts left out of a page, in words.
pub fn left_out(left_out: &LeftOut) -> String {
    let count = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let titles = &left_out.titles;
    let named = titles.iter().take(NAMED).map(|title| escape_value(title));
    let mut named: Vec<String> = named.collect();
    if titles.len() > NAMED {
        named.push("…".to_owned());
    }
    let titles = count(titles.len(), "title or author", "titles or authors");
    let parts = [
        titles.map(|titles| format!("{titles} ({})", named.join(", "))),
        count(left_out.notes, "note in brackets", "notes in brackets"),
        count(left_out.numbers, "number", "numbers"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_is_counted_and_escaped() {
        let mut page = LeftOut { titles: vec!["登鹳雀楼".to_owned()], notes: 1, numbers: 0 };
        assert_eq!(left_out(&page), "1 title or author (登鹳雀楼), 1 note in brackets");
        page.titles = ["a\u{200b}", "b", "c", "d"].map(str::to_owned).to_vec();
        (page.notes, page.numbers) = (0, 2);
        assert_eq!(left_out(&page), "4 titles or authors (a\\u{200b}, b, c, …), 2 numbers");
        assert_eq!(left_out(&LeftOut::default()), "");
    }
}
