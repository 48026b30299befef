//! From traditional to simplified characters, by the tables of the OpenCC project.

use std::collections::HashMap;

const COMPATIBILITY: &str =
    include_str!("../../../../data/opencc/CJK_Compatibility_Ideographs.txt");
const TS_PHRASES: &str = include_str!("../../../../data/opencc/TSPhrases.txt");
const TS_CHARACTERS_EXT: &str = include_str!("../../../../data/opencc/TSCharactersExt.txt");
const TS_CHARACTERS: &str = include_str!("../../../../data/opencc/TSCharacters.txt");
pub(crate) const ST_CHARACTERS: &str = include_str!("../../../../data/opencc/STCharacters.txt");

/// Converts text by replacing, from left to right, the longest phrase that the tables know, and
/// where there is none the single character. Each character becomes one character.
///
/// This is the conversion that OpenCC's configuration `t2s` describes: compatibility ideographs are
/// replaced first; then, at each place, the first table with a match decides, and of several targets
/// the first is taken. The tables are compiled in.
#[derive(Debug, Clone)]
pub struct Converter {
    stages: [Dictionary; 2],
}

impl Converter {
    /// From traditional to simplified characters. Text that is simplified already mostly stays as
    /// it is; 乾, for one, becomes 干 outside the phrases that keep it.
    pub fn traditional_to_simplified() -> Self {
        let tables = [TS_PHRASES, TS_CHARACTERS_EXT, TS_CHARACTERS];
        Self { stages: [Dictionary::new(&[COMPATIBILITY]), Dictionary::new(&tables)] }
    }

    /// The text with the usual forms of compatibility ideographs, and no other change.
    pub fn normalise(&self, text: &str) -> String {
        self.stages[0].replace(text)
    }

    /// The converted text. Characters that are in no table stay.
    pub fn convert(&self, text: &str) -> String {
        let [normalise, convert] = &self.stages;
        convert.replace(&normalise.replace(text))
    }
}

/// The rows of some tables by the first character of their source, each list in the order in
/// which it is tried: table by table, longer sources first.
#[derive(Debug, Clone)]
struct Dictionary {
    rows: HashMap<char, Vec<Row>>,
}

/// A source and its targets, one or more with a space between them.
type Row = (&'static str, &'static str);

impl Dictionary {
    fn new(tables: &[&'static str]) -> Self {
        let mut all: HashMap<char, Vec<Row>> = HashMap::new();
        for table in tables {
            let mut rows: Vec<Row> = table.lines().filter_map(parse_row).collect();
            rows.sort_by_key(|(source, _)| std::cmp::Reverse(source.len()));
            for row in rows {
                let first = row.0.chars().next();
                let first = first.expect("parse_row gives no empty source");
                all.entry(first).or_default().push(row);
            }
        }
        Self { rows: all }
    }

    fn replace(&self, text: &str) -> String {
        let mut converted = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let rows = self.rows.get(&first).map_or(&[][..], Vec::as_slice);
            let row = rows.iter().find(|(source, _)| rest.starts_with(source));
            rest = match row {
                Some((source, targets)) => {
                    converted.extend(targets.split(' ').next());
                    &rest[source.len()..]
                }
                None => {
                    converted.push(first);
                    &rest[first.len_utf8()..]
                }
            };
        }
        converted
    }
}

/// A row is `source<tab>target[ target...]`; comments and blank lines have no tab.
pub(crate) fn parse_row(row: &'static str) -> Option<Row> {
    let (source, targets) = row.split_once('\t')?;
    let targets = targets.trim();
    let is_row = !source.is_empty() && !source.starts_with('#') && !targets.is_empty();
    is_row.then_some((source, targets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole() {
        for (table, rows) in [
            (COMPATIBILITY, 1002),
            (TS_PHRASES, 476),
            (TS_CHARACTERS_EXT, 895),
            (TS_CHARACTERS, 4148),
            (ST_CHARACTERS, 4012),
        ] {
            assert_eq!(table.lines().filter_map(parse_row).count(), rows);
        }
    }

    #[test]
    fn simplifies() {
        let converter = Converter::traditional_to_simplified();
        for (text, wanted) in [
            ("", ""),
            ("白日依山盡，黃河入海流。", "白日依山尽，黄河入海流。"),
            ("春眠不覺曉", "春眠不觉晓"),
            ("風煙出綺疎", "风烟出绮疎"),
            ("已经简体 abc\n", "已经简体 abc\n"),
        ] {
            assert_eq!(converter.convert(text), wanted);
        }
    }

    #[test]
    fn phrases_come_before_characters() {
        let converter = Converter::traditional_to_simplified();
        assert_eq!(converter.convert("乾"), "干");
        assert_eq!(converter.convert("乾元"), "乾元");
        assert_eq!(converter.convert("乾乾淨淨"), "干干净净");
        // The longest phrase wins, and the match goes on after it.
        assert_eq!(converter.convert("不瞭解乾元乾"), "不了解乾元干");
    }

    #[test]
    fn compatibility_ideographs_come_first() {
        // U+F9E1 is 李, U+F90A is 金; U+F902 is 車, which is then simplified.
        let converter = Converter::traditional_to_simplified();
        assert_eq!(converter.convert("\u{f9e1}\u{f90a}\u{f902}"), "李金车");
        assert_eq!(converter.normalise("\u{f9e1}\u{f90a}\u{f902}"), "李金車");
    }

    #[test]
    fn extension_table_comes_before_the_plain_one() {
        // TSCharacters alone would keep 㑮.
        let converter = Converter::traditional_to_simplified();
        assert_eq!(converter.convert("㑮"), "𫝈");
    }

    /// Each character of a text is the partner of one of its conversion.
    #[test]
    fn every_character_becomes_one() {
        for table in [COMPATIBILITY, TS_PHRASES, TS_CHARACTERS_EXT, TS_CHARACTERS] {
            for (source, targets) in table.lines().filter_map(parse_row) {
                let target = targets.split(' ').next().unwrap();
                assert_eq!(target.chars().count(), source.chars().count(), "{source}");
            }
        }
    }
}
