//! The constraint that makes the even lines rhyme.

use std::sync::Arc;

use tang_prosody::{Layout, RhymeGroup, Template, Tone};
use tang_tokenizer::{COMMA_ID, TokenId, Vocabulary};

use super::{
    Constraint, Place,
    exemption::Exemption,
    mask::Mask,
    rules::{Rule, Wanted},
    token_readings::{TokenReadings, fixed_rhymes, fixed_tones},
};
use crate::GenerateError;

/// A group that the model may choose has at least this many times the characters that are needed,
/// so that the other rules never exclude all of them.
const PLENTY: usize = 8;

/// The even lines end in one level group of 平水韻, no two of them in the same character.
pub(super) struct RhymeConstraint {
    layout: Layout,
    /// The groups that are possible with the fixed characters.
    groups: Vec<RhymeGroup>,
    /// By line, the token of a fixed last character; a mark if the vocabulary lacks it.
    fixed: Vec<Option<TokenId>>,
    /// Whether the first line rhymes if it ends level; its end then has one tone only.
    first_line: bool,
    readings: Arc<TokenReadings>,
}

impl RhymeConstraint {
    /// The constraint, and the fixed characters that cannot keep it: none, if the fixed ends of
    /// lines fit at least one wanted group, else those that do not fit the best group.
    ///
    /// # Errors
    ///
    /// [`GenerateError::FewRhymes`] if the vocabulary has too few characters of a wanted group.
    pub(super) fn new(
        template: &Template,
        wanted: Wanted<RhymeGroup>,
        first_line: bool,
        vocabulary: &Vocabulary,
        readings: Arc<TokenReadings>,
    ) -> Result<(Self, Vec<Exemption>), GenerateError> {
        let layout = template.layout();
        let last = layout.line_length().chars() - 1;
        let ends = template.fixed().filter(|(_, column, _)| *column == last);
        let ends: Vec<(usize, char)> = ends.map(|(line, _, c)| (line, c)).collect();
        let rhymes = (0..layout.lines()).filter(|line| is_rhyme(*line)).count();
        let free = rhymes - ends.iter().filter(|(line, _)| is_rhyme(*line)).count();
        let groups = groups(wanted, free, &readings)?.into_iter();
        let (groups, exemptions) =
            Exemption::fewest(groups.map(|group| (group, misfits(&ends, last, group, first_line))));
        let mut fixed = vec![None; layout.lines()];
        for (line, character) in ends {
            fixed[line] = Some(vocabulary.id(character).unwrap_or(COMMA_ID));
        }
        let constraint = Self { layout, groups, fixed, first_line, readings };
        Ok((constraint, exemptions))
    }

    /// The last character of a line, if it is fixed or written.
    fn end(&self, line: usize, poem: &[TokenId]) -> Option<TokenId> {
        let last = self.layout.line_length().chars() - 1;
        let written = || poem.get(self.layout.position(line, last)).copied();
        self.fixed[line].or_else(written)
    }

    /// The groups that are possible after the written ends of lines.
    fn open_groups(&self, poem: &[TokenId]) -> Vec<RhymeGroup> {
        let mut groups = self.groups.clone();
        groups.retain(|group| {
            self.chosen(poem).all(|(line, token)| match line {
                0 => self.suits_first_line(token, *group),
                _ => !is_rhyme(line) || self.readings.rhymes(token, *group),
            })
        });
        groups
    }

    /// The last characters of written lines that were chosen, not fixed.
    fn chosen(&self, poem: &[TokenId]) -> impl Iterator<Item = (usize, TokenId)> {
        let lines = (0..self.layout.lines()).filter(|line| self.fixed[*line].is_none());
        lines.filter_map(|line| Some((line, self.end(line, poem)?)))
    }

    /// The lines whose ends all differ.
    fn distinct(&self) -> impl Iterator<Item = usize> {
        // The end of the first line is one of them: the same character again is no rhyme.
        (0..self.layout.lines()).filter(|line| *line == 0 || is_rhyme(*line))
    }

    /// Whether `token` at the end of the first line lets the poem rhyme in `group`: a level one
    /// must rhyme. An oblique one must not rhyme by any reading, even a rare one (梦), or the
    /// checker would judge the line as one that rhymes.
    fn suits_first_line(&self, token: TokenId, group: RhymeGroup) -> bool {
        if !self.first_line {
            true
        } else if self.readings.tones[token as usize].contains(Tone::Level) {
            self.readings.rhymes(token, group)
        } else {
            !self.readings.can_rhyme(token, group)
        }
    }
}

impl Constraint for RhymeConstraint {
    fn rule(&self) -> Rule {
        Rule::Rhyme
    }

    fn restrict(&self, poem: &[TokenId], Place { line, column }: Place, mask: &mut Mask) {
        if column + 1 < self.layout.line_length().chars() {
            return;
        }
        let groups = self.open_groups(poem);
        if line == 0 && self.first_line {
            mask.retain(|token| {
                let tones = self.readings.tones[token as usize];
                let one = tones == Tone::Oblique.into() || tones == Tone::Level.into();
                one && groups.iter().any(|g| self.suits_first_line(token, *g))
            });
        } else if is_rhyme(line) {
            mask.retain(|token| groups.iter().any(|g| self.readings.rhymes(token, *g)));
            for token in self.distinct().filter_map(|line| self.end(line, poem)) {
                mask.remove(token);
            }
        }
    }

    fn agrees(&self, poem: &[TokenId]) -> bool {
        let fixed: Vec<TokenId> = self.distinct().filter_map(|line| self.fixed[line]).collect();
        let mut chosen = self.chosen(poem).filter(|(line, _)| *line == 0 || is_rhyme(*line));
        chosen.all(|(_, token)| !fixed.contains(&token)) && !self.open_groups(poem).is_empty()
    }
}

/// The groups to choose from, when `free` characters are still to be found.
fn groups(
    wanted: Wanted<RhymeGroup>,
    free: usize,
    readings: &TokenReadings,
) -> Result<Vec<RhymeGroup>, GenerateError> {
    let mut sizes = readings.groups.clone();
    sizes.retain(|(group, _)| wanted.is(group));
    let want = match wanted {
        Wanted::Any => free * PLENTY,
        Wanted::Only(_) => free,
    };
    let have = sizes.iter().map(|(_, size)| *size).max().unwrap_or(0);
    if have < want {
        return Err(GenerateError::FewRhymes { have, want });
    }
    sizes.retain(|(_, size)| *size >= want);
    Ok(sizes.into_iter().map(|(group, _)| group).collect())
}

/// Whether a line, counted from 0, rhymes.
fn is_rhyme(line: usize) -> bool {
    line % 2 == 1
}

/// The fixed ends of lines that do not rhyme in `group`, or only with themselves.
fn misfits(
    ends: &[(usize, char)],
    column: usize,
    group: RhymeGroup,
    first_line: bool,
) -> Vec<Exemption> {
    let mut seen = Vec::new();
    let mut misfits = Vec::new();
    for &(line, character) in ends {
        let fits = if is_rhyme(line) {
            fixed_rhymes(character, group) && !seen.contains(&character)
        } else {
            // An oblique end of the first line need not rhyme.
            let must = line == 0 && first_line && fixed_tones(character) == Tone::Level.into();
            !must || fixed_rhymes(character, group)
        };
        if is_rhyme(line) || line == 0 {
            seen.push(character);
        }
        if !fits {
            misfits.push(Exemption { line, column, character, rule: Rule::Rhyme });
        }
    }
    misfits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::tests::{allowed, allowed_characters};

    /// 流 楼 愁 秋 舟 in 尤, 人 春 in 真, 月 oblique, 看 either tone.
    const CHARACTERS: &str = "流楼愁秋舟人春月看";

    fn constraint(
        template: &str,
        wanted: Wanted<RhymeGroup>,
        first_line: bool,
    ) -> (RhymeConstraint, Vec<Exemption>, Vocabulary) {
        let vocabulary = Vocabulary::from_texts([CHARACTERS]);
        let readings = Arc::new(TokenReadings::new(&vocabulary));
        let template = Template::parse(template).unwrap();
        let (constraint, exemptions) =
            RhymeConstraint::new(&template, wanted, first_line, &vocabulary, readings).unwrap();
        (constraint, exemptions, vocabulary)
    }

    /// The characters that may end the last line of `poem`, given these groups.
    fn ends(first_line: bool, groups: &[&str], poem: &str) -> String {
        let wanted = Wanted::Only(groups[0].parse().unwrap());
        let (mut constraint, _, vocabulary) = constraint(FREE, wanted, first_line);
        constraint.groups = groups.iter().map(|group| group.parse().unwrap()).collect();
        allowed_characters(&constraint, constraint.layout, poem, &vocabulary, CHARACTERS)
    }

    const FREE: &str = "*****，*****。*****，*****。";

    #[test]
    fn the_second_line_chooses_the_group() {
        let both = ["尤", "真"];
        assert_eq!(ends(false, &both, "月月月月"), CHARACTERS, "the first line is free");
        assert_eq!(ends(false, &both, "月月月月月，月月月"), CHARACTERS, "no rhyme yet");
        assert_eq!(ends(false, &both, "月月月月月，月月月月"), "流楼愁秋舟人春");
        let two = "月月月月月，月月月月流。月月月月月，月月月月";
        assert_eq!(ends(false, &both, two), "楼愁秋舟", "流 is used");
        assert_eq!(ends(false, &["真"], "月月月月月，月月月月"), "人春");
    }

    #[test]
    fn a_first_line_that_ends_level_rhymes() {
        let both = ["尤", "真"];
        assert_eq!(ends(true, &both, "月月月月"), "流楼愁秋舟人春月", "看 is unclear");
        assert_eq!(ends(true, &["真"], "月月月月"), "人春月");
        assert_eq!(ends(true, &both, "月月月月春，月月月月"), "人", "春 is used");
        assert_eq!(ends(true, &both, "月月月月月，月月月月"), "流楼愁秋舟人春");
        let free = "月月月月春，月月月月流。月月月月月，月月月月";
        assert_eq!(ends(false, &both, free), "楼愁秋舟", "春 is no rhyme here");
    }

    #[test]
    fn an_oblique_end_never_seems_to_rhyme() {
        // 梦 is written oblique, but there is a level reading of it in 东.
        let vocabulary = Vocabulary::from_texts(["梦空风流楼月"]);
        let readings = Arc::new(TokenReadings::new(&vocabulary));
        let template = Template::parse(FREE).unwrap();
        let ends = |groups: &[&str], poem: &str| -> String {
            let wanted = Wanted::Only(groups[0].parse().unwrap());
            let readings = readings.clone();
            let (mut constraint, _) =
                RhymeConstraint::new(&template, wanted, true, &vocabulary, readings).unwrap();
            constraint.groups = groups.iter().map(|group| group.parse().unwrap()).collect();
            let poem = vocabulary.encode(poem).unwrap();
            let mut tokens = allowed(&constraint, constraint.layout, &poem, vocabulary.len());
            tokens.retain(|token| vocabulary.is_han(*token));
            vocabulary.decode(&tokens).unwrap()
        };
        let line = "月月月月";
        assert_eq!(ends(&["东", "尤"], &format!("{line}梦，{line}")), "楼流");
        assert_eq!(ends(&["东"], line), "月空风");
        assert!(ends(&["尤"], line).contains('梦'));
    }

    #[test]
    fn small_groups_are_taken_when_asked_for_only() {
        let vocabulary = Vocabulary::from_texts([CHARACTERS]);
        let readings = Arc::new(TokenReadings::new(&vocabulary));
        let group: RhymeGroup = "真".parse().unwrap();
        let found = |wanted, free| groups(wanted, free, &readings);
        assert_eq!(found(Wanted::Only(group), 2).unwrap(), [group]);
        for (wanted, free, have, want) in [(Wanted::Only(group), 3, 2, 3), (Wanted::Any, 2, 5, 16)]
        {
            let message = found(wanted, free).unwrap_err().to_string();
            let (have, want) = (have.to_string(), want.to_string());
            assert!(message.contains(&have) && message.contains(&want), "{message}");
        }
    }

    #[test]
    fn fixed_ends_that_do_not_rhyme_are_named() {
        let named = |template: &str| -> Vec<String> {
            let group = Wanted::Only("尤".parse().unwrap());
            let (_, exemptions, _) = constraint(template, group, true);
            exemptions.iter().map(ToString::to_string).collect()
        };
        assert_eq!(named("*****，****流。*****，****秋。"), Vec::<String>::new());
        assert_eq!(
            named("****月，****流。****流，****月。"),
            ["line 4, character 5, `月`, does not keep the rhyme"]
        );
        assert_eq!(
            named("*****，****流。*****，****流。"),
            ["line 4, character 5, `流`, does not keep the rhyme"]
        );
        assert_eq!(
            named("****人，****流。*****，****秋。"),
            ["line 1, character 5, `人`, does not keep the rhyme"]
        );
    }
}
