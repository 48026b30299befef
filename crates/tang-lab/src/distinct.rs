//! How various a text is.

use std::collections::HashSet;

use serde::Serialize;
use tang_prosody::Share;

use crate::poem_set::lines;

/// The share of different characters and pairs of characters among all of a text: distinct-1 and
/// distinct-2 of Li et al., *A Diversity-Promoting Objective Function for Neural Conversation
/// Models*, 2016.
///
/// Both fall as a text grows: only texts of equal length can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Distinct {
    /// Different characters, of all.
    pub distinct_1: Share,
    /// Different pairs of neighbours, of all within lines.
    pub distinct_2: Share,
}

impl Distinct {
    /// Of the first `characters` characters of these poems, marks not counted.
    pub(crate) fn of<'a>(poems: impl IntoIterator<Item = &'a str>, characters: usize) -> Self {
        let mut left = characters;
        let mut singles = Vec::new();
        let mut pairs = Vec::new();
        for line in poems.into_iter().flat_map(lines) {
            let line: Vec<char> = line.chars().take(left).collect();
            left -= line.len();
            pairs.extend(line.windows(2).map(|pair| (pair[0], pair[1])));
            singles.extend(line);
        }
        Self {
            distinct_1: different(&singles),
            distinct_2: different(&pairs),
        }
    }
}

fn different<T: Eq + std::hash::Hash>(all: &[T]) -> Share {
    Share {
        part: all.iter().collect::<HashSet<_>>().len(),
        whole: all.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(part: usize, whole: usize) -> Share {
        Share { part, whole }
    }

    #[test]
    fn pairs_end_with_the_line() {
        let distinct = Distinct::of(["春风春，风春风。", "花。"], 100);
        assert_eq!(distinct.distinct_1, share(3, 7));
        // 春风 风春 | 风春 春风: not 春 风 over the mark.
        assert_eq!(distinct.distinct_2, share(2, 4));
    }

    #[test]
    fn only_so_many_characters_count() {
        let distinct = Distinct::of(["春风春，风花月。", "山。"], 5);
        assert_eq!(distinct.distinct_1, share(3, 5));
        assert_eq!(distinct.distinct_2, share(3, 3));
        assert_eq!(Distinct::of(["春。"], 0).distinct_2.rate(), None);
    }
}
