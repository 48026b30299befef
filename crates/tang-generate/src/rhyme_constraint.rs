//! The constraint that makes the even lines rhyme.

use std::sync::Arc;

use tang_prosody::{Layout, RhymeGroup, Slot, Template, Tone};
use tang_tokenizer::{TokenId, Vocabulary};

use crate::{
    Exemption, GenerateError, Rule, Wanted,
    constraint::{Constraint, Mask},
    token_readings::{TokenReadings, fixed_groups, fixed_tones},
};

/// A group that the model may find by itself has so many times the characters that are needed, so
/// that other rules never use them up.
const PLENTY: usize = 8;

/// The even lines end in one level group of 平水韻, no two of them in the same character.
pub(crate) struct RhymeConstraint {
    layout: Layout,
    /// The groups that the fixed characters leave.
    groups: Vec<RhymeGroup>,
    /// By place, the token of a fixed character at a rhyme.
    fixed: Vec<Option<TokenId>>,
    /// Whether the first line rhymes if it ends level; its end then has one tone only.
    first_line: bool,
    readings: Arc<TokenReadings>,
}

impl RhymeConstraint {
    /// The constraint, and the fixed characters that do not rhyme: none, if those at the ends of
    /// even lines have at least one wanted group in common, else those outside the group that most
    /// of them are in.
    ///
    /// # Errors
    ///
    /// [`GenerateError::FewRhymes`] if the vocabulary has too few characters of a wanted group.
    pub(crate) fn new(
        template: &Template,
        wanted: Wanted<RhymeGroup>,
        first_line: bool,
        vocabulary: &Vocabulary,
        readings: Arc<TokenReadings>,
    ) -> Result<(Self, Vec<Exemption>), GenerateError> {
        let layout = template.layout();
        let last = layout.line_length().chars() - 1;
        let ends: Vec<(usize, char)> = template
            .fixed()
            .filter(|(_, column, _)| *column == last)
            .map(|(line, _, character)| (line, character))
            .collect();
        let rhymes = (0..layout.lines()).filter(|line| is_rhyme(*line)).count();
        let free = rhymes - ends.iter().filter(|(line, _)| is_rhyme(*line)).count();
        let misfits: Vec<(RhymeGroup, Vec<Exemption>)> =
            groups(wanted, free, vocabulary, &readings)?
                .into_iter()
                .map(|group| (group, misfits(&ends, last, group, first_line)))
                .collect();
        let fewest = misfits.iter().map(|(_, list)| list.len()).min();
        let best: Vec<_> = misfits
            .into_iter()
            .filter(|(_, misfits)| Some(misfits.len()) == fewest)
            .collect();
        let exemptions = best.first().map_or_else(Vec::new, |(_, list)| list.clone());
        let groups = match exemptions.is_empty() {
            true => best.into_iter().map(|(group, _)| group).collect(),
            // The characters to be let off are those of one group.
            false => best.into_iter().take(1).map(|(group, _)| group).collect(),
        };
        let mut fixed = vec![None; layout.char_count()];
        for (line, character) in &ends {
            fixed[layout.position(*line, last)] = vocabulary.id(*character);
        }
        let constraint = Self {
            layout,
            groups,
            fixed,
            first_line,
            readings,
        };
        Ok((constraint, exemptions))
    }

    /// The ends of the lines before `line` that a character was chosen for, with their lines.
    fn chosen<'a>(
        &'a self,
        poem: &'a [TokenId],
        line: usize,
    ) -> impl Iterator<Item = (usize, TokenId)> {
        let last = self.layout.line_length().chars() - 1;
        (0..line).filter_map(move |line| {
            let place = self.layout.position(line, last);
            self.fixed[place].is_none().then_some((line, poem[place]))
        })
    }

    /// Whether the end of the first line, if it was chosen, lets the poem rhyme in `group`: a level
    /// one rhymes, an oblique one must not seem to by a reading that is hardly used (梦), or the
    /// line would be judged as one that rhymes.
    fn suits_first_line(&self, token: TokenId, group: RhymeGroup) -> bool {
        let level = self.readings.tones(token).contains(Tone::Level);
        let suits = match level {
            true => self.readings.groups(token).contains(&group),
            false => !self.readings.any_groups(token).contains(&group),
        };
        !self.first_line || suits
    }
}

impl Constraint for RhymeConstraint {
    fn rule(&self) -> Rule {
        Rule::Rhyme
    }

    fn restrict(&self, poem: &[TokenId], mask: &mut Mask) {
        let place = poem.len();
        let Slot::Han { line, column } = self.layout.slot(place) else {
            return;
        };
        if column + 1 < self.layout.line_length().chars() || self.fixed[place].is_some() {
            return;
        }
        let groups: Vec<RhymeGroup> = self
            .groups
            .iter()
            .copied()
            .filter(|group| {
                self.chosen(poem, line).all(|(line, token)| match line {
                    0 => self.suits_first_line(token, *group),
                    _ => !is_rhyme(line) || self.readings.groups(token).contains(group),
                })
            })
            .collect();
        let rhymes = |token: TokenId| {
            let own = self.readings.groups(token);
            own.iter().any(|group| groups.contains(group))
        };
        if line == 0 && self.first_line {
            mask.retain(|token| {
                let tones = self.readings.tones(token);
                let one = tones == Tone::Oblique.into() || tones == Tone::Level.into();
                one && groups.iter().any(|g| self.suits_first_line(token, *g))
            });
        } else if is_rhyme(line) {
            mask.retain(rhymes);
            // The first line's character counts, too: a rhyme that is no new one is none.
            for end in (0..self.layout.lines()).filter(|end| *end == 0 || is_rhyme(*end)) {
                let end = self
                    .layout
                    .position(end, self.layout.line_length().chars() - 1);
                if let Some(token) = self.fixed[end].or_else(|| poem.get(end).copied()) {
                    mask.remove(token);
                }
            }
        }
    }
}

/// The groups to choose from, when `free` characters are still to be found.
fn groups(
    wanted: Wanted<RhymeGroup>,
    free: usize,
    vocabulary: &Vocabulary,
    readings: &TokenReadings,
) -> Result<Vec<RhymeGroup>, GenerateError> {
    let sizes: Vec<(RhymeGroup, usize)> = RhymeGroup::all()
        .filter(|group| wanted.is(group))
        .map(|group| {
            let tokens = vocabulary.iter().map(|(token, _)| token);
            let rhymes = tokens.filter(|token| readings.groups(*token).contains(&group));
            (group, rhymes.count())
        })
        .collect();
    let plenty = match wanted {
        Wanted::Any => PLENTY,
        Wanted::Only(_) => 1,
    };
    let have = sizes.iter().map(|(_, size)| *size).max().unwrap_or(0);
    if have < free * plenty {
        return Err(GenerateError::FewRhymes {
            have,
            want: free * plenty,
        });
    }
    let enough = sizes.into_iter().filter(|(_, size)| *size >= free * plenty);
    Ok(enough.map(|(group, _)| group).collect())
}

/// Whether the rhyme stands in this line, counted from 0.
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
    let in_group = |character| fixed_groups(character).is_none_or(|groups| groups.contains(&group));
    let mut seen = Vec::new();
    let mut misfits = Vec::new();
    for (line, character) in ends {
        let is_new = !seen.contains(character);
        let fits = match line {
            // An oblique end does not rhyme and need not.
            0 => {
                let level = fixed_tones(*character) == Tone::Level.into();
                !first_line || !level || in_group(*character)
            }
            _ => !is_rhyme(*line) || (in_group(*character) && is_new),
        };
        if is_rhyme(*line) || *line == 0 {
            seen.push(*character);
        }
        if !fits {
            misfits.push(Exemption {
                line: *line,
                column,
                character: *character,
                rule: Rule::Rhyme,
            });
        }
    }
    misfits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::tests::allowed;

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

    /// What may end the last line of `poem`, with these groups to choose from.
    fn ends(first_line: bool, groups: &[&str], poem: &str) -> String {
        let wanted = Wanted::Only(groups[0].parse().unwrap());
        let (mut constraint, _, vocabulary) = constraint(FREE, wanted, first_line);
        constraint.groups = groups.iter().map(|group| group.parse().unwrap()).collect();
        let poem = vocabulary.encode(poem).unwrap();
        let tokens = allowed(&constraint, &poem, vocabulary.len());
        let mut han: Vec<char> = vocabulary.decode(&tokens).unwrap().chars().collect();
        han.retain(|c| CHARACTERS.contains(*c));
        han.sort_by_key(|c| CHARACTERS.find(*c));
        han.into_iter().collect()
    }

    const FREE: &str = "*****，*****。*****，*****。";

    #[test]
    fn the_second_line_chooses_the_group() {
        let both = ["尤", "真"];
        assert_eq!(
            ends(false, &both, "月月月月"),
            CHARACTERS,
            "the first line is free"
        );
        assert_eq!(
            ends(false, &both, "月月月月月，月月月"),
            CHARACTERS,
            "no rhyme yet"
        );
        assert_eq!(ends(false, &both, "月月月月月，月月月月"), "流楼愁秋舟人春");
        let two = "月月月月月，月月月月流。月月月月月，月月月月";
        assert_eq!(ends(false, &both, two), "楼愁秋舟", "流 is used");
        assert_eq!(ends(false, &["真"], "月月月月月，月月月月"), "人春");
    }

    #[test]
    fn a_first_line_that_ends_level_rhymes() {
        let both = ["尤", "真"];
        assert_eq!(
            ends(true, &both, "月月月月"),
            "流楼愁秋舟人春月",
            "看 is unclear"
        );
        assert_eq!(ends(true, &["真"], "月月月月"), "人春月");
        assert_eq!(
            ends(true, &both, "月月月月春，月月月月"),
            "人",
            "春 is used"
        );
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
            let mut tokens = allowed(&constraint, &poem, vocabulary.len());
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
        let found = |wanted, free| groups(wanted, free, &vocabulary, &readings);
        assert_eq!(found(Wanted::Only(group), 2).unwrap(), [group]);
        for (wanted, free, have, want) in [(Wanted::Only(group), 3, 2, 3), (Wanted::Any, 2, 5, 16)]
        {
            let message = found(wanted, free).unwrap_err().to_string();
            let (have, want) = (have.to_string(), want.to_string());
            assert!(
                message.contains(&have) && message.contains(&want),
                "{message}"
            );
        }
    }

    #[test]
    fn fixed_ends_that_do_not_rhyme_are_named() {
        let named = |template: &str| -> Vec<String> {
            let group = Wanted::Only("尤".parse().unwrap());
            let (_, exemptions, _) = constraint(template, group, true);
            exemptions.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            named("*****，****流。*****，****秋。"),
            Vec::<String>::new()
        );
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
