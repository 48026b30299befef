//! Repetition that a reader notices, within a poem and between the poems of a set.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    hash::Hash,
};

use serde::Serialize;
use tang_prosody::Share;

use super::poems::lines;

/// Characters of an opening.
const OPENING: usize = 2;
/// Count of openings that are kept.
const COMMONEST: usize = 10;

/// Shares of poems that repeat a character, a word or a line, and the openings that poems share.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Repetition {
    /// Poems with a character three times or more.
    pub thrice: Share,
    /// Poems with a word twice or more: two different characters, side by side in a line. A doubled character, as
    /// 悠悠, is no such word.
    pub words: Share,
    /// Poems with a line twice or more.
    pub lines: Share,
    /// Lines that an earlier poem of the set has.
    pub shared_lines: Share,
    /// The ten commonest openings, commonest first.
    pub openings: Vec<Opening>,
}

/// The first two characters of poems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Opening {
    pub text: String,
    /// Poems that begin with it.
    pub poems: Share,
}

impl Repetition {
    /// Counts the repetition in these poems.
    pub fn of<'a>(poems: impl IntoIterator<Item = &'a str>) -> Self {
        let mut repetition = Self::default();
        let mut openings = Vec::new();
        let mut earlier = HashSet::new();
        for poem in poems {
            let lines: Vec<&str> = lines(poem).collect();
            let texts: Vec<Vec<char>> = lines.iter().map(|line| line.chars().collect()).collect();
            let pairs = texts.iter().flat_map(|text| text.windows(2));
            repetition.thrice.count(most(texts.iter().flatten()) >= 3);
            repetition.words.count(most(pairs.filter(|pair| pair[0] != pair[1])) >= 2);
            repetition.lines.count(most(&lines) >= 2);
            for line in &lines {
                repetition.shared_lines.count(earlier.contains(line));
            }
            earlier.extend(lines);
            openings.push(poem.chars().take(OPENING).collect::<String>());
        }
        let mut counts: Vec<(String, usize)> = counts(&openings)
            .into_iter()
            .map(|(opening, count)| (opening.clone(), count))
            .collect();
        counts.sort_by(|(a, n), (b, m)| (Reverse(n), a).cmp(&(Reverse(m), b)));
        counts.truncate(COMMONEST);
        let opening = |(text, part)| {
            let poems = Share { part, whole: openings.len() };
            Opening { text, poems }
        };
        repetition.openings = counts.into_iter().map(opening).collect();
        repetition
    }

    /// Poems with the commonest opening, and poems with one of the ten.
    pub fn common_openings(&self) -> [Share; 2] {
        let shares = || self.openings.iter().map(|opening| opening.poems);
        let ten = shares().reduce(|sum, one| Share { part: sum.part + one.part, ..sum });
        [shares().next(), ten].map(Option::unwrap_or_default)
    }
}

/// The count of each item.
fn counts<T: Eq + Hash>(items: impl IntoIterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// The count of the commonest item, 0 without any.
fn most<T: Eq + Hash>(items: impl IntoIterator<Item = T>) -> usize {
    counts(items).into_values().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(poems: &[&str]) -> [usize; 4] {
        let own = Repetition::of(poems.iter().copied());
        for share in [own.thrice, own.words, own.lines] {
            assert_eq!(share.whole, poems.len());
        }
        [own.thrice, own.words, own.lines, own.shared_lines].map(|share| share.part)
    }

    #[test]
    fn each_kind_is_counted_once_per_poem() {
        for (poem, wanted) in [
            ("白日依山尽，黄河入海流。", [0, 0, 0, 0]),
            ("春风春，花春月。", [1, 0, 0, 0]),
            ("春风花，月春风。", [0, 1, 0, 0]),
            ("春风花，春风花，春风花。", [1, 1, 1, 0]),
            // A pair ends with its line.
            ("花春，风月。春风", [0, 0, 0, 0]),
            // Doubled characters are no words, but three of four are too many.
            ("悠悠水，云悠悠。", [1, 0, 0, 0]),
            ("水悠悠，云迢迢。", [0, 0, 0, 0]),
            // 春悠 twice.
            ("春悠悠，春悠花。", [1, 1, 0, 0]),
            ("", [0; 4]),
        ] {
            assert_eq!(parts(&[poem]), wanted, "{poem}");
        }
    }

    #[test]
    fn lines_are_compared_with_those_of_earlier_poems() {
        assert_eq!(parts(&["春风，花。", "月，花。", "花，春风。"]), [0, 0, 0, 3]);
        let shared = Repetition::of(["春风，花。", "月，花。"]).shared_lines;
        assert_eq!(shared, Share { part: 1, whole: 4 });
    }

    #[test]
    fn openings_are_in_the_order_of_their_counts() {
        let poems = ["山水，花。", "春风，花。", "春风花，月。", "春，花。"];
        let own = Repetition::of(poems);
        let openings: Vec<_> = own.openings.iter().map(|o| (o.text.as_str(), o.poems)).collect();
        let of_four = |part| Share { part, whole: 4 };
        assert_eq!(openings, [("春风", of_four(2)), ("山水", of_four(1)), ("春，", of_four(1))]);
        assert_eq!(own.common_openings(), [of_four(2), of_four(4)]);
        let many: Vec<String> = ('一'..).take(30).map(|c| format!("{c}山。")).collect();
        assert_eq!(Repetition::of(many.iter().map(String::as_str)).openings.len(), 10);
        assert_eq!(Repetition::of([]).common_openings(), [Share::default(); 2]);
    }
}
