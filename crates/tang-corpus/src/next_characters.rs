//! What a plain count of the corpus says about the character after a prefix: the figure that a
//! model's own distribution is compared with.

use std::{cmp::Reverse, collections::HashMap};

/// The characters that follow a prefix in a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextCharacters {
    /// How often the prefix occurs: the sum of all counts.
    pub occurrences: usize,
    /// Each character that follows it and how often, the most frequent first, equal ones by code
    /// point. Marks count like any other character, and the end of a poem is a newline.
    pub counts: Vec<(char, usize)>,
}

impl NextCharacters {
    /// Counts what follows `prefix` wherever it occurs in `poems`, overlapping occurrences
    /// included. An empty prefix occurs before every character.
    pub fn count(poems: &[String], prefix: &str) -> Self {
        let mut counts: HashMap<char, usize> = HashMap::new();
        for poem in poems {
            for (start, _) in poem.char_indices() {
                if let Some(rest) = poem[start..].strip_prefix(prefix) {
                    *counts
                        .entry(rest.chars().next().unwrap_or('\n'))
                        .or_default() += 1;
                }
            }
        }
        let occurrences = counts.values().sum();
        let mut counts: Vec<(char, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|&(character, count)| (Reverse(count), character));
        Self {
            occurrences,
            counts,
        }
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
            NextCharacters {
                occurrences: 3,
                counts: vec![('春', 1), ('花', 1), ('，', 1)]
            }
        );
        assert_eq!(count("花").counts, [('。', 3)]);
        assert_eq!(count("秋").occurrences, 0);
        assert_eq!(count("秋").counts, []);
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
