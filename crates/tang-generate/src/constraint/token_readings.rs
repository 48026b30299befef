//! The tones and rhyme groups of each token.

use tang_prosody::{Reading, Readings, RhymeGroup, ToneSet};
use tang_tokenizer::{TokenId, Vocabulary};

/// Readings by token. A poem is written by the usual ones of verse, and judged by any.
pub(super) struct TokenReadings {
    /// `None` for a mark and for a character that the table lacks.
    readings: Vec<Option<&'static Readings>>,
    /// The usual tones of each token.
    pub(super) tones: Vec<ToneSet>,
    /// Each rhyme group with its count of tokens.
    pub(super) groups: Vec<(RhymeGroup, usize)>,
}

impl TokenReadings {
    /// The readings of every token.
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let readings: Vec<_> = vocabulary.iter().map(|(_, c)| Readings::of(c)).collect();
        let tones = readings.iter();
        let tones = tones.map(|r| r.map_or(ToneSet::NONE, Readings::usual_tones));
        let size = |group| {
            let rhymes = |readings: &&&Readings| has_group(readings.usual(), group);
            (group, readings.iter().flatten().filter(rhymes).count())
        };
        let groups = RhymeGroup::all().map(size).collect();
        Self { tones: tones.collect(), groups, readings }
    }

    /// Whether a token rhymes in a group by a usual reading.
    pub(super) fn rhymes(&self, token: TokenId, group: RhymeGroup) -> bool {
        self.readings[token as usize].is_some_and(|readings| has_group(readings.usual(), group))
    }

    /// Whether a token rhymes in a group by any reading.
    pub(super) fn can_rhyme(&self, token: TokenId, group: RhymeGroup) -> bool {
        self.readings[token as usize].is_some_and(|readings| readings.can_rhyme(group))
    }
}

fn has_group(readings: &[Reading], group: RhymeGroup) -> bool {
    readings.iter().any(|reading| reading.group == Some(group))
}

/// The tones of a fixed character by any reading, even a modern one; all, if the tables lack it.
pub(super) fn fixed_tones(character: char) -> ToneSet {
    Readings::of_given(character).map_or(ToneSet::ANY, Readings::tones)
}

/// Whether a fixed character rhymes in a group by any reading; in all groups, if the tables lack it.
pub(super) fn fixed_rhymes(character: char, group: RhymeGroup) -> bool {
    Readings::of_given(character).is_none_or(|readings| readings.can_rhyme(group))
}

#[cfg(test)]
mod tests {
    use tang_prosody::Tone;

    use super::*;

    #[test]
    fn written_by_usual_readings_and_fixed_by_any() {
        let vocabulary = Vocabulary::from_texts(["中人不梦"]);
        let readings = TokenReadings::new(&vocabulary);
        let token = |c| vocabulary.id(c).unwrap();
        assert_eq!(readings.tones[token('中') as usize], Tone::Level.into());
        assert_eq!(fixed_tones('中'), ToneSet::ANY);
        assert_eq!(readings.tones[token('，') as usize], ToneSet::NONE);
        assert_eq!(fixed_tones('玥'), Tone::Oblique.into());
        assert_eq!(fixed_tones('𠮷'), ToneSet::ANY);
        let groups = |rhymes: &dyn Fn(RhymeGroup) -> bool| -> Vec<RhymeGroup> {
            RhymeGroup::all().filter(|group| rhymes(*group)).collect()
        };
        let usual = |c| groups(&|group| readings.rhymes(token(c), group));
        let any = |c| groups(&|group| readings.can_rhyme(token(c), group));
        assert_eq!(usual('人'), ["真".parse().unwrap()]);
        assert_eq!(usual('梦'), []);
        assert_eq!(any('梦'), ["东".parse().unwrap()]);
        assert_eq!(groups(&|group| fixed_rhymes('月', group)), []);
        let fixed = |c| groups(&|group| fixed_rhymes(c, group)).len();
        assert_eq!(['玥', '妈', '𠮷'].map(fixed), [0, 30, 30]);
        let of = |c| readings.tones[token(c) as usize].contains(Tone::Oblique);
        assert!(of('不') && !of('人') && !of('。'));
    }
}
