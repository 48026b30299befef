//! Conversion from simplified to traditional characters, by the usage in the source of the corpus.

use std::{collections::HashMap, iter};

use tang_prosody::is_han;

use super::converter::{ST_CHARACTERS, parse_row};

/// Forms that were counted in the source; `data/README.md` says how.
const COUNTED: &str = include_str!("../../../../data/traditional.tsv");

/// The mark of the table for a side without a Han character.
const NOTHING: char = '|';

/// Writes traditional characters for simplified ones.
///
/// A simplified character may replace several traditional ones, which are different words: 里
/// for 里, a mile, and for 裏, inside. The commoner a form is in the source of the corpus, and the
/// more often it has the same neighbours there, the likelier it is; the likeliest is written.
/// Characters that the source lacks are written as OpenCC lists them.
#[derive(Debug, Clone)]
pub struct Traditional<'a> {
    counted: HashMap<char, Vec<Form<'a>>>,
    listed: HashMap<char, &'static str>,
}

/// A traditional form of a simplified character.
///
/// Neighbours are groups of a count and the characters with this count: `3山河2天`.
#[derive(Debug, Clone)]
struct Form<'a> {
    character: char,
    count: f64,
    before: &'a str,
    after: &'a str,
    /// Pairs of neighbours, before and after, between which this form is right although the counts
    /// prefer another.
    between: &'a str,
}

impl Default for Traditional<'_> {
    /// The conversion by the table that is compiled in.
    fn default() -> Self {
        Self::new(COUNTED)
    }
}

impl<'a> Traditional<'a> {
    /// The conversion by a table such as `data/traditional.tsv`: a row per form, the commonest of a
    /// character first.
    ///
    /// # Panics
    ///
    /// If a row has no simplified character, form and count.
    pub fn new(table: &'a str) -> Self {
        let mut counted: HashMap<char, Vec<Form>> = HashMap::new();
        for row in table.lines() {
            let (simplified, form) = Form::parse(row).unwrap_or_else(|| panic!("no form: {row}"));
            counted.entry(simplified).or_default().push(form);
        }
        let listed = ST_CHARACTERS
            .lines()
            .filter_map(parse_row)
            .filter_map(|(source, targets)| Some((source.chars().next()?, targets)));
        Self { counted, listed: listed.collect() }
    }

    /// The text in traditional characters, one for each. No word goes across a mark or a line
    /// break.
    pub fn convert(&self, text: &str) -> String {
        let text: Vec<char> = text.chars().collect();
        let neighbour = |index: usize| text.get(index).copied().filter(|c| is_han(*c));
        (0..text.len())
            .map(|index| {
                let before = index.checked_sub(1).and_then(neighbour);
                self.form(before, text[index], neighbour(index + 1))
            })
            .collect()
    }

    /// Whether no traditional text has this character: 觉 (覺), but not 后, which is also one of the
    /// forms of 后.
    pub fn is_simplified_only(&self, character: char) -> bool {
        if let Some(forms) = self.counted.get(&character) {
            return forms.iter().all(|form| form.character != character);
        }
        let targets = self.listed.get(&character);
        targets.is_some_and(|targets| !targets.contains(character))
    }

    /// The text with each character that [is only simplified](Self::is_simplified_only) in its commonest
    /// traditional form, and the others as they are, to compare characters of a text in both scripts.
    pub fn compared(&self, text: &str) -> String {
        text.chars()
            .map(|c| if self.is_simplified_only(c) { self.form(None, c, None) } else { c })
            .collect()
    }

    fn form(&self, before: Option<char>, character: char, after: Option<char>) -> char {
        let forms = match self.counted.get(&character).map(Vec::as_slice) {
            None => return self.first_listed(character),
            Some([only]) => return only.character,
            Some(forms) => forms,
        };
        if let Some(form) = forms.iter().find(|form| form.is_between(before, after)) {
            return form.character;
        }
        let mut scores: Vec<f64> = forms.iter().map(|form| form.count).collect();
        let total: f64 = scores.iter().sum();
        for (neighbour, side) in
            [(before, (|form| form.before) as fn(&Form<'a>) -> &'a str), (after, |form| form.after)]
        {
            let Some(neighbour) = neighbour else { continue };
            let counts: Vec<f64> =
                forms.iter().map(|form| count_of(neighbour, side(form))).collect();
            let beside: f64 = counts.iter().sum();
            for ((score, form), count) in scores.iter_mut().zip(forms).zip(counts) {
                // The share of this form beside this neighbour over its share everywhere. The
                // latter is added to the counts beside the neighbour as one more observation.
                let share = form.count / total;
                *score *= (count + share) / (beside + 1.0) / share;
            }
        }
        // Among equal scores, the first form is taken.
        let best = (1..forms.len())
            .fold(0, |best, index| if scores[index] > scores[best] { index } else { best });
        forms[best].character
    }

    fn first_listed(&self, character: char) -> char {
        let targets = self.listed.get(&character);
        let first = targets.and_then(|targets| targets.chars().next());
        first.unwrap_or(character)
    }
}

impl<'a> Form<'a> {
    /// A row is `simplified<tab>form<tab>count[<tab>before<tab>after<tab>between]`.
    fn parse(row: &'a str) -> Option<(char, Self)> {
        let mut columns = row.split('\t');
        let simplified = columns.next()?.chars().next()?;
        let form = Self {
            character: columns.next()?.chars().next()?,
            count: columns.next()?.parse().ok()?,
            before: columns.next().unwrap_or_default(),
            after: columns.next().unwrap_or_default(),
            between: columns.next().unwrap_or_default(),
        };
        Some((simplified, form))
    }

    fn is_between(&self, before: Option<char>, after: Option<char>) -> bool {
        let wanted = (before.unwrap_or(NOTHING), after.unwrap_or(NOTHING));
        let mut between = self.between.chars();
        iter::from_fn(|| between.next().zip(between.next())).any(|pair| pair == wanted)
    }
}

/// The count of a neighbour in groups such as `3山河2天`; 0 if it is in none.
fn count_of(neighbour: char, groups: &str) -> f64 {
    let Some((before, _)) = groups.split_once(neighbour) else {
        return 0.0;
    };
    let digits = before.trim_end_matches(|c: char| !c.is_ascii_digit());
    let start = digits.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    digits[start..].parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_before_their_characters() {
        for (neighbour, wanted) in [('山', 12.0), ('河', 12.0), ('天', 1.0), ('水', 0.0)] {
            assert_eq!(count_of(neighbour, "12山河1天"), wanted);
        }
        assert_eq!(count_of('山', ""), 0.0);
    }

    #[test]
    fn neighbours_decide_and_between_both_decides_first() {
        let table = "里\t里\t6\t5千\t\n里\t裏\t4\t3山\t2闻\t千声|声\n风\t風\t9";
        let traditional = Traditional::new(table);
        for (text, wanted) in [
            ("里", "里"),
            ("千里，山里。", "千里，山裏。"),
            ("千里闻", "千里聞"),
            // The form that OpenCC lists.
            ("千里声", "千裏聲"),
            ("，里声", "，裏聲"),
            ("风", "風"),
        ] {
            assert_eq!(traditional.convert(text), wanted);
        }
    }

    #[test]
    fn writes_what_the_source_has() {
        let traditional = Traditional::default();
        for (text, wanted) in [
            ("", ""),
            ("春眠不觉晓，处处闻啼鸟。", "春眠不覺曉，處處聞啼鳥。"),
            ("双袖龙钟泪不干，", "雙袖龍鍾淚不乾，"),
            ("夜半钟声到客船。", "夜半鐘聲到客船。"),
            ("古来征战几人回。", "古來征戰幾人回。"),
            ("千里江陵一日还，", "千里江陵一日還，"),
            ("深山何处钟，云里不知村。", "深山何處鐘，雲裏不知村。"),
            ("采莲南浦去，白发三千丈。", "採蓮南浦去，白髮三千丈。"),
            ("春风花草香，又见春风发。", "春風花草香，又見春風發。"),
            ("皇后，然后。", "皇后，然後。"),
            ("烟波江上使人愁。", "煙波江上使人愁。"),
            ("万户捣衣声abc\n", "萬戶擣衣聲abc\n"),
        ] {
            assert_eq!(traditional.convert(text), wanted);
        }
    }

    #[test]
    fn traditional_text_may_have_what_is_simplified_elsewhere() {
        let traditional = Traditional::default();
        for character in "王后千秋征人未還乾里云余干台采烟却峰床讌𠮷，a".chars()
        {
            assert!(!traditional.is_simplified_only(character), "{character}");
        }
        for character in "觉双龙处闻泪静宫为𫝈".chars() {
            assert!(traditional.is_simplified_only(character), "{character}");
        }
    }

    #[test]
    fn characters_are_compared_in_one_script() {
        let traditional = Traditional::default();
        for (text, wanted) in
            [("来來", "來來"), ("台臺", "台臺"), ("后後", "后後"), ("白日，a𠮷", "白日，a𠮷")]
        {
            assert_eq!(traditional.compared(text), wanted);
        }
        let [one, two] = ["发", "发發髮"].map(|text| traditional.compared(text));
        assert!(two.starts_with(&one) && two.ends_with("發髮"), "{two}");
    }
}
