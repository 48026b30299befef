//! The tones and rhyme groups of characters.

use std::{collections::HashMap, sync::LazyLock};

use crate::{RhymeGroup, Tone, ToneSet, absent_characters::modern_tone};

/// A head line, then one row per character: the character, its count in the corpus, its readings, the share of level
/// use, the source. `data/README.md` names the sources.
const TABLE: &str = include_str!("../../../data/prosody.tsv");

static READINGS: LazyLock<HashMap<char, Readings>> = LazyLock::new(|| {
    let rows = TABLE.lines().skip(1).map(parse_row);
    rows.map(|row| row.expect("the table is compiled in, and a test reads it")).collect()
});

/// Readings of a character whose modern pronunciation is level, and of one whose pronunciation is oblique.
static MODERN: LazyLock<[Readings; 2]> = LazyLock::new(|| {
    [Tone::Level, Tone::Oblique].map(|tone| {
        let readings = vec![Reading { tone, group: None }];
        Readings { any: readings.clone(), usual: readings, is_modern: true }
    })
});

/// A way to read a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The tone.
    pub tone: Tone,
    /// The rhyme group of a level reading; `None` for an oblique reading, and where it is not known.
    pub group: Option<RhymeGroup>,
}

/// All readings of a character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readings {
    any: Vec<Reading>,
    usual: Vec<Reading>,
    is_modern: bool,
}

impl Readings {
    /// The readings of `c`, a simplified character, in the rhyme books and in verse; `None` if the table lacks it.
    /// Such a character is never chosen for a poem by the rules.
    pub fn of(c: char) -> Option<&'static Self> {
        READINGS.get(&c)
    }

    /// The readings of a character that was given, or that is judged: those of [`of`](Self::of), or else the tone of
    /// a modern pronunciation, which has no rhyme group. `None` for a character without either: it counts as any
    /// reading.
    pub fn of_given(c: char) -> Option<&'static Self> {
        let [level, oblique] = &*MODERN;
        Self::of(c).or_else(|| match modern_tone(c)? {
            Tone::Level => Some(level),
            Tone::Oblique => Some(oblique),
        })
    }

    /// Whether these are the tone of a modern pronunciation, not readings of a rhyme book.
    pub fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Whether any reading rhymes in this group. A modern level one may rhyme in any.
    pub fn can_rhyme(&self, group: RhymeGroup) -> bool {
        let rhymes = |reading: &Reading| match reading.group {
            Some(own) => own == group,
            None => self.is_modern && reading.tone == Tone::Level,
        };
        self.any.iter().any(rhymes)
    }

    /// Every reading, the commonest first. A poem is judged by these.
    pub fn any(&self) -> &[Reading] {
        &self.any
    }

    /// The usual readings: if a character has both tones, a tone with less than 3 % of its places
    /// in verse is left out. A poem is written by these, so that it never depends on a reading that
    /// readers do not expect (中 departing, 梦 level).
    pub fn usual(&self) -> &[Reading] {
        &self.usual
    }

    /// The tones of [`Self::any`].
    pub fn tones(&self) -> ToneSet {
        self.any.iter().map(|reading| reading.tone).collect()
    }

    /// The tones of [`Self::usual`].
    pub fn usual_tones(&self) -> ToneSet {
        self.usual.iter().map(|reading| reading.tone).collect()
    }
}

fn parse_row(row: &str) -> Option<(char, Readings)> {
    let mut fields = row.split('\t');
    let character = fields.next()?.parse().ok()?;
    let readings = fields.nth(1)?;
    let level_share: Option<f64> = match fields.next()? {
        "" => None,
        share => Some(share.parse().ok()?),
    };
    let mut any = Vec::new();
    for reading in readings.split(',') {
        let reading = parse_reading(reading)?;
        // Readings in different oblique tones are the same here.
        if !any.contains(&reading) {
            any.push(reading);
        }
    }
    let is_usual = |tone| match (tone, level_share) {
        (Tone::Level, Some(share)) => share >= 0.03,
        (Tone::Oblique, Some(share)) => share <= 0.97,
        (_, None) => true,
    };
    let mut usual = any.clone();
    usual.retain(|reading| is_usual(reading.tone));
    Some((character, Readings { any, usual, is_modern: false }))
}

/// `平尤` is level and in group 尤; `入物`, `仄?` are oblique; the group of `平?` is not known.
fn parse_reading(text: &str) -> Option<Reading> {
    let mut chars = text.chars();
    match (chars.next()?, chars.next()?) {
        ('平', '?') => Some(Reading { tone: Tone::Level, group: None }),
        ('平', head) => {
            Some(Reading { tone: Tone::Level, group: Some(RhymeGroup::of_head(head)?) })
        }
        ('上' | '去' | '入' | '仄', _) => Some(Reading { tone: Tone::Oblique, group: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBLIQUE: Reading = Reading { tone: Tone::Oblique, group: None };

    fn level(group: &str) -> Reading {
        Reading { tone: Tone::Level, group: Some(group.parse().unwrap()) }
    }

    fn of(c: char) -> &'static Readings {
        Readings::of(c).unwrap()
    }

    #[test]
    fn every_row_of_the_table_is_read() {
        assert_eq!(READINGS.len(), 6_252);
        assert_eq!(READINGS.len(), TABLE.lines().count() - 1);
        assert!(READINGS.values().all(|readings| !readings.usual.is_empty()));
        assert_eq!(Readings::of('a'), None);
    }

    #[test]
    fn characters_have_their_tones_and_groups() {
        assert_eq!(of('人').any(), [level("真")]);
        assert_eq!(of('不').any(), [level("尤"), OBLIQUE]);
        assert_eq!(of('月').any(), [OBLIQUE]);
        assert_eq!(of('看').tones(), ToneSet::ANY);
    }

    #[test]
    fn characters_that_verse_lacks_have_modern_tones_where_they_are_given() {
        for (c, tone) in [('妈', Tone::Level), ('玥', Tone::Oblique)] {
            assert_eq!(Readings::of(c), None, "{c}");
            let modern = Readings::of_given(c).unwrap();
            assert!(modern.is_modern());
            assert_eq!((modern.tones(), modern.usual_tones()), (tone.into(), tone.into()));
            let rhymes = RhymeGroup::all().filter(|group| modern.can_rhyme(*group)).count();
            assert_eq!(rhymes, if tone == Tone::Level { 30 } else { 0 }, "{c}");
        }
        assert_eq!(Readings::of_given('人'), Readings::of('人'));
        assert!(!of('人').is_modern());
        let rhymes = |c| of(c).can_rhyme("真".parse().unwrap());
        assert!(rhymes('人') && !rhymes('流') && !rhymes('月'));
        // No table has a pronunciation of the first, and of the second none has the tone.
        assert_eq!((Readings::of_given('𠮷'), Readings::of_given('㐂')), (None, None));
    }

    #[test]
    fn a_tone_that_verse_hardly_uses_is_not_usual() {
        for (c, usual) in [('中', Tone::Level), ('梦', Tone::Oblique)] {
            assert_eq!(of(c).tones(), ToneSet::ANY, "{c}");
            assert_eq!(of(c).usual_tones(), usual.into(), "{c}");
        }
        assert_eq!(of('不').usual_tones(), ToneSet::ANY);
    }

    #[test]
    fn the_bounds_of_use_are_those_documented() {
        let usual = |share: &str| {
            let (_, readings) = parse_row(&format!("看\t1\t平寒,去翰\t{share}\tx")).unwrap();
            readings.usual_tones().to_string()
        };
        let shares = ["0.02", "0.03", "", "0.97", "0.98"];
        assert_eq!(shares.map(usual), ["仄", "中", "中", "中", "平"]);
    }

    #[test]
    fn rows_that_make_no_sense_are_none() {
        for row in ["", "看", "看\t1\t寒\t\tx", "看\t1\t平麌\t\tx", "看\t1\t平寒\tx"] {
            assert_eq!(parse_row(row), None, "{row}");
        }
    }
}
