//! Han characters that no poem of the corpus has, such as 玥 and 妈.

use std::{collections::HashMap, sync::LazyLock};

use crate::Tone;

/// A head line, then one row per stand-in and tone: the stand-in, the tone, the characters. `data/README.md` names the
/// source.
const TABLE: &str = include_str!("../../../data/standins.tsv");

static CHARACTERS: LazyLock<HashMap<char, AbsentCharacter>> = LazyLock::new(|| {
    let rows = TABLE.lines().skip(1).map(parse_row);
    rows.flat_map(|row| row.expect("the table is compiled in, and a test reads it")).collect()
});

#[derive(Clone, Copy)]
struct AbsentCharacter {
    stand_in: char,
    tone: Option<Tone>,
}

/// The character that names the radical of `c`, if no poem of the corpus has `c`: 玉 for 玥. A model that has no token
/// for `c` can read this one.
pub fn stand_in(c: char) -> Option<char> {
    CHARACTERS.get(&c).map(|absent| absent.stand_in)
}

/// The tone of `c` in a modern pronunciation, if no poem of the corpus has `c`.
pub(crate) fn modern_tone(c: char) -> Option<Tone> {
    CHARACTERS.get(&c)?.tone
}

fn parse_row(row: &str) -> Option<impl Iterator<Item = (char, AbsentCharacter)>> {
    let mut fields = row.split('\t');
    let stand_in = fields.next()?.parse().ok()?;
    let tone = match fields.next()? {
        "平" => Some(Tone::Level),
        "仄" => Some(Tone::Oblique),
        "" => None,
        _ => return None,
    };
    Some(fields.next()?.chars().map(move |c| (c, AbsentCharacter { stand_in, tone })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Readings;

    #[test]
    fn every_row_of_the_table_is_read() {
        let characters = TABLE.lines().skip(1).map(|row| row.chars().rev());
        let count: usize = characters.map(|row| row.take_while(|c| *c != '\t').count()).sum();
        assert_eq!((CHARACTERS.len(), count), (21_052, 21_052));
        assert_eq!(CHARACTERS.values().filter(|absent| absent.tone.is_none()).count(), 139);
        for row in ["", "玉", "玉\t平", "玉玉\t平\t玥", "玉\t上\t玥"] {
            assert!(parse_row(row).is_none(), "{row}");
        }
    }

    #[test]
    fn the_corpus_has_the_stand_ins_and_none_of_the_characters() {
        for (c, absent) in &*CHARACTERS {
            assert!(Readings::of(*c).is_none(), "{c}");
            assert!(Readings::of(absent.stand_in).is_some(), "{}", absent.stand_in);
        }
    }

    #[test]
    fn characters_have_their_radicals_and_tones() {
        use Tone::{Level, Oblique};
        for (c, radical, tone) in [
            ('玥', '玉', Oblique),
            ('妈', '女', Level),
            ('晗', '日', Level),
            ('鑫', '金', Level),
            ('汐', '水', Oblique),
            // The radical is 頁, a head.
            ('颋', '首', Oblique),
        ] {
            assert_eq!((stand_in(c), modern_tone(c)), (Some(radical), Some(tone)), "{c}");
        }
        for c in "春玉𠮷a，🙂".chars() {
            assert_eq!((stand_in(c), modern_tone(c)), (None, None), "{c}");
        }
    }
}
