//! Counts of the characters after a prefix in a corpus, with which a model's own distribution is compared.

use std::{cmp::Reverse, collections::HashMap};

/// The characters that follow a prefix in a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextCharacters {
    /// Occurrences of the prefix: the sum of all counts.
    pub occurrences: usize,
    /// Each character that follows it and its count, the most frequent first, equal ones by code
    /// point. Marks count like any other character, and the end of a poem is a newline.
    pub counts: Vec<(char, usize)>,
}

impl NextCharacters {
    /// Counts the characters after `prefix` wherever it occurs in `poems`, overlapping occurrences
    /// included. An empty prefix occurs before every character.
    pub fn count(poems: &[String], prefix: &str) -> Self {
        Self::of(poems.iter().flat_map(|poem| {
            let rests = poem.char_indices().map(|(start, _)| &poem[start..]);
            let rests = rests.filter_map(|rest| rest.strip_prefix(prefix));
            rests.map(|rest| rest.chars().next().unwrap_or('\n'))
        }))
    }

    /// Counts the characters that poems begin with.
    pub fn first(poems: &[String]) -> Self {
        Self::of(poems.iter().filter_map(|poem| poem.chars().next()))
    }

    fn of(characters: impl Iterator<Item = char>) -> Self {
        let mut counts: HashMap<char, usize> = HashMap::new();
        for character in characters {
            *counts.entry(character).or_default() += 1;
        }
        let occurrences = counts.values().sum();
        let mut counts: Vec<(char, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|&(character, count)| (Reverse(count), character));
        Self { occurrences, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(prefix: &str) -> NextCharacters {
        let poems = ["春风春风，花。", "春风花。", "萧萧萧花。"].map(str::to_owned);
        NextCharacters::count(&poems, prefix)
    }

    #[test]
    fn counts_what_follows() {
        assert_eq!(
            count("春风"),
            NextCharacters { occurrences: 3, counts: vec![('春', 1), ('花', 1), ('，', 1)] }
        );
        assert_eq!(count("花").counts, [('。', 3)]);
        assert_eq!(count("秋").occurrences, 0);
        assert_eq!(count("秋").counts, []);
    }

    #[test]
    fn poems_begin_with_their_first_characters() {
        let poems = ["春风。", "花。", "春。"].map(str::to_owned);
        assert_eq!(
            NextCharacters::first(&poems),
            NextCharacters { occurrences: 3, counts: vec![('春', 2), ('花', 1)] }
        );
    }

    #[test]
    fn overlaps_marks_and_poem_ends_count() {
        assert_eq!(count("萧萧").counts, [('花', 1), ('萧', 1)]);
        assert_eq!(count("春风，").counts, [('花', 1)]);
        assert_eq!(count("。").counts, [('\n', 3)]);
        assert_eq!(count("").occurrences, 16);
        assert_eq!(count("").counts[0], ('。', 3));
    }
}
