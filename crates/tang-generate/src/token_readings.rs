//! How the tokens of a vocabulary are read.

use tang_prosody::{Reading, Readings, RhymeGroup, ToneSet};
use tang_tokenizer::{TokenId, Vocabulary};

/// Readings by token: the usual ones, by which a poem is written, and the groups of any, by which it
/// is judged.
pub(crate) struct TokenReadings {
    tones: Vec<ToneSet>,
    groups: Vec<Vec<RhymeGroup>>,
    any_groups: Vec<Vec<RhymeGroup>>,
}

impl TokenReadings {
    /// Those of every token; a mark and a character that the table lacks have none.
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let readings = || vocabulary.iter().map(|(_, c)| Readings::of(c));
        Self {
            tones: readings()
                .map(|readings| readings.map_or(ToneSet::NONE, Readings::usual_tones))
                .collect(),
            groups: readings()
                .map(|readings| readings.map_or_else(Vec::new, |r| groups(r.usual())))
                .collect(),
            any_groups: readings()
                .map(|readings| readings.map_or_else(Vec::new, |r| groups(r.any())))
                .collect(),
        }
    }

    /// The usual tones of a token.
    pub(crate) fn tones(&self, token: TokenId) -> ToneSet {
        self.tones[token as usize]
    }

    /// The groups that a token rhymes in when it is read as usual.
    pub(crate) fn groups(&self, token: TokenId) -> &[RhymeGroup] {
        &self.groups[token as usize]
    }

    /// The groups that a token rhymes in by any reading.
    pub(crate) fn any_groups(&self, token: TokenId) -> &[RhymeGroup] {
        &self.any_groups[token as usize]
    }

    /// One flag a token: whether it can have one of these tones.
    pub(crate) fn with_tones(&self, allowed: ToneSet) -> Vec<bool> {
        let tones = self.tones.iter();
        tones.map(|tones| tones.intersects(allowed)).collect()
    }
}

/// The tones that a character fixed by the user may have: by any reading, and any tone if the table
/// lacks it.
pub(crate) fn fixed_tones(character: char) -> ToneSet {
    Readings::of(character).map_or(ToneSet::ANY, Readings::tones)
}

/// The groups that a character fixed by the user may rhyme in, by any reading; `None` for all of
/// them, if the table lacks it.
pub(crate) fn fixed_groups(character: char) -> Option<Vec<RhymeGroup>> {
    Readings::of(character).map(|readings| groups(readings.any()))
}

fn groups(readings: &[Reading]) -> Vec<RhymeGroup> {
    readings
        .iter()
        .filter_map(|reading| reading.group)
        .collect()
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
        assert_eq!(readings.tones(token('中')), Tone::Level.into());
        assert_eq!(fixed_tones('中'), ToneSet::ANY);
        assert_eq!(readings.tones(token('，')), ToneSet::NONE);
        assert_eq!(fixed_tones('㐀'), ToneSet::ANY);
        assert_eq!(readings.groups(token('人')), ["真".parse().unwrap()]);
        assert_eq!(readings.groups(token('梦')), []);
        assert_eq!(readings.any_groups(token('梦')), ["东".parse().unwrap()]);
        assert_eq!(fixed_groups('月'), Some(Vec::new()));
        assert_eq!(fixed_groups('㐀'), None);
        let oblique = readings.with_tones(Tone::Oblique.into());
        let of = |c| oblique[token(c) as usize];
        assert!(of('不') && !of('人') && !of('。'));
    }
}
