//! Training and validation poems.

use std::collections::HashSet;

use tang_prosody::{COMMA, FULL_STOP};
use tang_tokenizer::Vocabulary;

use crate::CorpusError;

/// One poem in this many is held back.
const VALIDATION_EVERY: usize = 20;
/// The fewest poems that can be split.
const MIN_POEMS: usize = 2;

/// The poems that a model learns from and those that it is measured on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// The training poems.
    pub train: Vec<String>,
    /// The validation poems; there is always one.
    pub validation: Vec<String>,
    /// Song poems to learn from before the training poems alone; may be empty.
    pub song: Vec<String>,
}

/// Counts of Song poems that [`Split::add_song`] left out, each poem under the first reason that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SongLeftOut {
    /// With a character that no Tang poem has.
    pub unknown: usize,
    /// The same as a Tang poem.
    pub in_tang: usize,
    /// With a line of a validation poem.
    pub in_validation: usize,
}

impl Split {
    /// Holds back every twentieth poem, the ones with index 19, 39 and so on. One of these stays in
    /// training if half or more of its lines occur in a poem outside that twentieth: otherwise
    /// validation would measure a poem that was nearly trained on.
    ///
    /// The last poem is held back if no other is, for instance with fewer than 20 poems.
    ///
    /// # Errors
    ///
    /// [`CorpusError::TooFewPoems`] for fewer than two.
    pub fn of(poems: &[String]) -> Result<Self, CorpusError> {
        if poems.len() < MIN_POEMS {
            return Err(CorpusError::TooFewPoems { got: poems.len(), wanted: MIN_POEMS });
        }
        let in_twentieth = |index: usize| index % VALIDATION_EVERY == VALIDATION_EVERY - 1;
        let lines_outside: HashSet<&str> = poems
            .iter()
            .enumerate()
            .filter(|&(index, _)| !in_twentieth(index))
            .flat_map(|(_, poem)| lines(poem))
            .collect();
        let is_near_duplicate = |poem: &str| {
            let found = lines(poem).filter(|line| lines_outside.contains(line));
            2 * found.count() >= lines(poem).count()
        };

        let mut train = Vec::new();
        let mut validation = Vec::new();
        for (index, poem) in poems.iter().enumerate() {
            if in_twentieth(index) && !is_near_duplicate(poem) {
                validation.push(poem.clone());
            } else {
                train.push(poem.clone());
            }
        }
        if validation.is_empty() {
            validation.extend(train.pop());
        }
        Ok(Self { train, validation, song: Vec::new() })
    }

    /// Adds the Song poems that have only characters of the vocabulary, are no Tang poems, and share no line with
    /// a validation poem, so that vocabulary and validation stay as they are.
    pub fn add_song(&mut self, poems: &[String]) -> SongLeftOut {
        let vocabulary = self.vocabulary();
        let tang: HashSet<&String> = self.train.iter().chain(&self.validation).collect();
        let held_back: HashSet<&str> =
            self.validation.iter().flat_map(|poem| lines(poem)).collect();
        let mut left_out = SongLeftOut::default();
        let mut kept = Vec::new();
        for poem in poems {
            if poem.chars().any(|c| vocabulary.id(c).is_none()) {
                left_out.unknown += 1;
            } else if tang.contains(poem) {
                left_out.in_tang += 1;
            } else if lines(poem).any(|line| held_back.contains(line)) {
                left_out.in_validation += 1;
            } else {
                kept.push(poem.clone());
            }
        }
        self.song = kept;
        left_out
    }

    /// The characters of all Tang poems, those held back included.
    pub fn vocabulary(&self) -> Vocabulary {
        let poems = self.train.iter().chain(&self.validation);
        Vocabulary::from_texts(poems.map(String::as_str))
    }

    /// Characters of the training poems, a newline after each counted.
    pub fn train_characters(&self) -> usize {
        self.train.iter().map(|poem| poem.chars().count() + 1).sum()
    }
}

/// The lines of a poem, without their marks.
fn lines(poem: &str) -> impl Iterator<Item = &str> {
    poem.split_terminator([COMMA, FULL_STOP])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A poem no line of which any other number has.
    fn poem(number: u32) -> String {
        let c = |place: u32| char::from_u32(0x4e00 + 4 * number + place).unwrap();
        format!("{0}一一一一，{1}一一一一。{2}一一一一，{3}一一一一。", c(0), c(1), c(2), c(3))
    }

    fn poems(count: u32) -> Vec<String> {
        (0..count).map(poem).collect()
    }

    #[test]
    fn every_twentieth_is_held_back() {
        let poems = poems(45);
        let split = Split::of(&poems).unwrap();
        assert_eq!(split.validation, [poem(19), poem(39)]);
        assert_eq!(split.train.len(), 43);
        assert_eq!(split.train[18..20], [poem(18), poem(20)]);
    }

    #[test]
    fn counts_characters_with_their_newlines() {
        let split = Split::of(&poems(3)).unwrap();
        assert_eq!(split.train_characters(), 2 * (4 * 6 + 1));
        // Four of each poem, one of them 一, two marks and the newline.
        assert_eq!(split.vocabulary().len(), 3 * 4 + 3);
    }

    #[test]
    fn half_of_the_lines_elsewhere_keeps_a_poem_in_training() {
        let mut poems = poems(60);
        let couplet = |poem: &str| poem.split_inclusive('。').next().unwrap().to_owned();
        let line = |poem: &str| poem.split_inclusive('，').next().unwrap().to_owned();
        // Two of four lines are in poem 50.
        poems[19] = couplet(&poems[50]) + &couplet(&poems[19]);
        // One of four lines is in poem 3.
        let rest = poems[39].split_once('，').unwrap().1.to_owned();
        poems[39] = line(&poems[3]) + &rest;
        // The whole of it is in poem 39, but that is of the twentieth too.
        poems[59] = poems[39].clone();
        let split = Split::of(&poems).unwrap();
        assert_eq!(split.validation, [poems[39].clone(), poems[59].clone()]);
        assert_eq!(split.train[19], poems[19]);
    }

    #[test]
    fn song_poems_bring_no_character_and_no_validation_line() {
        let poems = poems(45);
        let mut split = Split::of(&poems).unwrap();
        let [first, second] = [&poems[0], &poems[1]].map(|poem| poem.split_once('。').unwrap());
        let mixed = format!("{}。{}", first.0, second.1);
        let shared = format!("{}。{}", first.0, poem(19).split_once('。').unwrap().1);
        let unknown = mixed.replacen('一', "山", 1);
        let left_out = split.add_song(&[mixed.clone(), shared, unknown, poems[3].clone()]);
        assert_eq!(left_out, SongLeftOut { unknown: 1, in_tang: 1, in_validation: 1 });
        assert_eq!(split.song, [mixed]);
        assert_eq!(split.vocabulary(), Split::of(&poems).unwrap().vocabulary());
    }

    #[test]
    fn a_small_corpus_holds_back_its_last_poem() {
        let poems = poems(19);
        let split = Split::of(&poems).unwrap();
        assert_eq!(split.validation, poems[18..]);
        assert_eq!(split.train, poems[..18]);

        let mut near_duplicates = self::poems(21);
        near_duplicates[19] = near_duplicates[0].clone();
        let split = Split::of(&near_duplicates).unwrap();
        assert_eq!(split.validation, near_duplicates[20..]);
    }

    #[test]
    fn one_poem_is_too_few() {
        let error = Split::of(&poems(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "1 poem cannot be split: wanted at least 2, one of them for validation"
        );
        assert!(Split::of(&poems(2)).is_ok());
    }
}
