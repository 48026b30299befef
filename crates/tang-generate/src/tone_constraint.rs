//! The constraint that keeps the tones of regulated verse.

use std::sync::Arc;

use tang_prosody::{Layout, LineSequence, LineType, Slot, Template, Tone, ToneSet};
use tang_tokenizer::TokenId;

use crate::{
    Exemption, Rule, Wanted,
    constraint::{Constraint, Mask},
    token_readings::{TokenReadings, fixed_tones},
};

/// Each line has the tones of its place in a sequence of line types; which sequence, the poem
/// itself decides, as far as several are left.
///
/// The lines of a sequence do not depend on each other, and the patterns of a line know of fixed
/// characters further on, so a poem never runs into a place where no tone is right.
pub(crate) struct ToneConstraint {
    layout: Layout,
    /// The sequences that the fixed characters leave.
    sequences: Vec<LineSequence>,
    /// By place, the tones of a fixed character; any, if it need not keep the rule.
    fixed: Vec<Option<ToneSet>>,
    readings: Arc<TokenReadings>,
    level: Vec<bool>,
    oblique: Vec<bool>,
    either: Vec<bool>,
}

impl ToneConstraint {
    /// The constraint, and the fixed characters that keep it from being kept everywhere: none, if
    /// they fit at least one of the wanted sequences, else those of the sequence that they fit
    /// best.
    pub(crate) fn new(
        template: &Template,
        wanted: Wanted<LineSequence>,
        readings: Arc<TokenReadings>,
    ) -> (Self, Vec<Exemption>) {
        let misfits: Vec<(LineSequence, Vec<Exemption>)> = LineSequence::ALL
            .into_iter()
            .filter(|sequence| wanted.is(sequence))
            .map(|sequence| (sequence, misfits(template, sequence)))
            .collect();
        let fewest = misfits.iter().map(|(_, list)| list.len()).min();
        let mut best = misfits.into_iter().filter(|(_, m)| Some(m.len()) == fewest);
        let (sequences, exemptions) = match fewest {
            Some(0) => (best.map(|(sequence, _)| sequence).collect(), Vec::new()),
            // The characters to be let off are those of one sequence.
            _ => best
                .next()
                .map_or_else(Default::default, |(s, m)| (vec![s], m)),
        };
        let layout = template.layout();
        let mut fixed = vec![None; layout.char_count()];
        for (line, column, character) in template.fixed() {
            fixed[layout.position(line, column)] = Some(fixed_tones(character));
        }
        for Exemption { line, column, .. } in &exemptions {
            fixed[layout.position(*line, *column)] = Some(ToneSet::ANY);
        }
        let constraint = Self {
            layout,
            sequences,
            fixed,
            level: readings.with_tones(Tone::Level.into()),
            oblique: readings.with_tones(Tone::Oblique.into()),
            either: readings.with_tones(ToneSet::ANY),
            readings,
        };
        (constraint, exemptions)
    }

    /// The tones of a line: of what is written, of what is fixed, any elsewhere.
    fn line(&self, line: usize, poem: &[TokenId]) -> Vec<ToneSet> {
        (0..self.layout.line_length().chars())
            .map(|column| {
                let place = self.layout.position(line, column);
                let written = || poem.get(place).map(|token| self.readings.tones(*token));
                self.fixed[place].or_else(written).unwrap_or(ToneSet::ANY)
            })
            .collect()
    }
}

impl Constraint for ToneConstraint {
    fn rule(&self) -> Rule {
        Rule::Tones
    }

    fn restrict(&self, poem: &[TokenId], mask: &mut Mask) {
        let Slot::Han { line, column } = self.layout.slot(poem.len()) else {
            return;
        };
        if self.fixed[poem.len()].is_some() {
            return;
        }
        let length = self.layout.line_length();
        let lines: Vec<Vec<ToneSet>> = (0..=line).map(|line| self.line(line, poem)).collect();
        let (current, before) = lines.split_last().expect("there is a current line");
        let allowed = self
            .sequences
            .iter()
            .filter(|sequence| {
                let mut lines = before.iter().enumerate();
                lines.all(|(line, tones)| sequence.line_type(line).can_be(length, tones))
            })
            .fold(ToneSet::NONE, |allowed, sequence| {
                let line_type = sequence.line_type(line);
                allowed | line_type.allowed_tones(length, current, column)
            });
        match (
            allowed.contains(Tone::Level),
            allowed.contains(Tone::Oblique),
        ) {
            (true, true) => mask.keep_set(&self.either),
            (true, false) => mask.keep_set(&self.level),
            (false, true) => mask.keep_set(&self.oblique),
            (false, false) => mask.retain(|_| false),
        }
    }
}

/// The fixed characters that cannot stand in the lines of `sequence`, beside those before them in
/// their lines.
fn misfits(template: &Template, sequence: LineSequence) -> Vec<Exemption> {
    let layout = template.layout();
    let length = layout.line_length();
    let mut lines = vec![vec![ToneSet::ANY; length.chars()]; layout.lines()];
    let mut misfits = Vec::new();
    for (line, column, character) in template.fixed() {
        let line_type: LineType = sequence.line_type(line);
        lines[line][column] = fixed_tones(character);
        if !line_type.can_be(length, &lines[line]) {
            lines[line][column] = ToneSet::ANY;
            misfits.push(Exemption {
                line,
                column,
                character,
                rule: Rule::Tones,
            });
        }
    }
    misfits
}

#[cfg(test)]
mod tests {
    use tang_prosody::{Form, LineLength};
    use tang_tokenizer::Vocabulary;

    use super::*;
    use crate::constraint::tests::allowed;

    /// 人 and 春 level, 月 and 日 oblique, 看 either, 㐀 not in the table.
    const CHARACTERS: &str = "人春月日看";

    fn written(template: &str, wanted: Wanted<LineSequence>, poem: &str) -> String {
        let vocabulary = Vocabulary::from_texts([CHARACTERS]);
        let template = Template::parse(template).unwrap();
        let readings = Arc::new(TokenReadings::new(&vocabulary));
        let (constraint, exemptions) = ToneConstraint::new(&template, wanted, readings);
        assert_eq!(exemptions, []);
        let poem = vocabulary.encode(poem).unwrap();
        let tokens = allowed(&constraint, &poem, vocabulary.len());
        let mut han: Vec<char> = vocabulary.decode(&tokens).unwrap().chars().collect();
        han.retain(|c| CHARACTERS.contains(*c));
        han.sort_by_key(|c| CHARACTERS.find(*c));
        han.into_iter().collect()
    }

    const FREE: &str = "*****，*****。*****，*****。";

    #[test]
    fn a_line_decides_the_sequence_and_the_sequence_the_lines() {
        let next = |poem: &str| written(FREE, Wanted::Any, poem);
        assert_eq!(next(""), CHARACTERS);
        assert_eq!(next("人"), CHARACTERS, "any sequence is left");
        assert_eq!(next("人月"), CHARACTERS, "A or D");
        assert_eq!(next("人月春"), "人春看", "A");
        assert_eq!(next("人月春人"), "月日看");
        // ACBD: the second line is a C.
        assert_eq!(next("人月春人日，人"), "人春看");
        assert_eq!(next("人月日人"), CHARACTERS, "A or D, which rhymes");
    }

    #[test]
    fn a_given_sequence_is_kept() {
        let bdac = Wanted::Only(LineSequence::Bdac);
        assert_eq!(written(FREE, bdac, "人"), "人春看");
        assert_eq!(written(FREE, bdac, "人春人月月，人"), "月日看");
    }

    #[test]
    fn a_fixed_character_further_on_is_known() {
        // The last character is level: D or C.
        let template = "****春，*****。*****，*****。";
        assert_eq!(written(template, Wanted::Any, "人月"), "月日看", "D");
    }

    #[test]
    fn characters_that_fit_nowhere_are_named_for_the_best_sequence() {
        let vocabulary = Vocabulary::from_texts([CHARACTERS]);
        let readings = Arc::new(TokenReadings::new(&vocabulary));
        // The second line of every sequence ends level.
        let template = Template::acrostic("春月春春", Form::WuJue.into(), 4).unwrap();
        let (constraint, exemptions) = ToneConstraint::new(&template, Wanted::Any, readings);
        let named: Vec<_> = exemptions.iter().map(ToString::to_string).collect();
        assert_eq!(
            named,
            [
                "line 2, character 5, `月`, does not keep the tones",
                "line 3, character 5, `春`, does not keep the tones"
            ]
        );
        assert_eq!(constraint.sequences.len(), 1);
        assert_eq!(constraint.fixed[10], Some(ToneSet::ANY));
    }

    #[test]
    fn heads_fit_every_sequence() {
        for length in [LineLength::Five, LineLength::Seven] {
            for heads in ["春春春春", "月月月月", "春月月春"] {
                let template = Template::acrostic(heads, Layout::new(4, length), 0).unwrap();
                for sequence in LineSequence::ALL {
                    assert_eq!(misfits(&template, sequence), [], "{heads} {sequence}");
                }
            }
        }
    }
}
