//! The constraint that keeps the tones of regulated verse.

use std::sync::Arc;

use tang_prosody::{Layout, LineSequence, Template, ToneSet};
use tang_tokenizer::TokenId;

use super::{
    Constraint, Place,
    exemption::Exemption,
    mask::Mask,
    rules::{Rule, Wanted},
    token_readings::{TokenReadings, fixed_tones},
};

/// Each line has the tones of its place in a sequence of line types; as long as several sequences
/// are possible, the poem may follow any of them.
///
/// The lines of a sequence do not depend on each other, and the patterns of a line take the fixed
/// characters after a place into account, so a poem never reaches a place where no tone is allowed.
pub(super) struct ToneConstraint {
    layout: Layout,
    /// The sequences that are possible with the fixed characters.
    sequences: Vec<LineSequence>,
    /// By position, the tones of a fixed character; both tones, if it is exempt from the rule.
    fixed: Vec<Option<ToneSet>>,
    readings: Arc<TokenReadings>,
}

impl ToneConstraint {
    /// The constraint, and the fixed characters that cannot keep it: none, if they fit at least one of the wanted
    /// sequences, else those of the sequence that they fit best.
    pub(super) fn new(
        template: &Template,
        wanted: Wanted<LineSequence>,
        readings: Arc<TokenReadings>,
    ) -> (Self, Vec<Exemption>) {
        let sequences = LineSequence::ALL.into_iter();
        let sequences = sequences.filter(|sequence| wanted.is(sequence));
        let (sequences, exemptions) =
            Exemption::fewest(sequences.map(|sequence| (sequence, misfits(template, sequence))));
        let layout = template.layout();
        let mut fixed = vec![None; layout.char_count()];
        for (line, column, character) in template.fixed() {
            fixed[layout.position(line, column)] = Some(fixed_tones(character));
        }
        for Exemption { line, column, .. } in &exemptions {
            fixed[layout.position(*line, *column)] = Some(ToneSet::ANY);
        }
        let constraint = Self { layout, sequences, fixed, readings };
        (constraint, exemptions)
    }

    /// The tones of a line: of written and of fixed characters, any elsewhere.
    fn line(&self, line: usize, poem: &[TokenId]) -> Vec<ToneSet> {
        (0..self.layout.line_length().chars())
            .map(|column| {
                let position = self.layout.position(line, column);
                let written =
                    || poem.get(position).map(|token| self.readings.tones[*token as usize]);
                self.fixed[position].or_else(written).unwrap_or(ToneSet::ANY)
            })
            .collect()
    }
}

impl Constraint for ToneConstraint {
    fn rule(&self) -> Rule {
        Rule::Tones
    }

    fn restrict(&self, poem: &[TokenId], Place { line, column }: Place, mask: &mut Mask) {
        let length = self.layout.line_length();
        let lines: Vec<Vec<ToneSet>> = (0..line).map(|line| self.line(line, poem)).collect();
        let current = self.line(line, poem);
        let mut allowed = ToneSet::NONE;
        for sequence in &self.sequences {
            let mut before = (0..).zip(&lines);
            if before.all(|(line, tones)| sequence.line_type(line).can_be(length, tones)) {
                let line_type = sequence.line_type(line);
                allowed = allowed | line_type.allowed_tones(length, &current, column);
            }
        }
        mask.keep_by(&self.readings.tones, |tones| tones.intersects(allowed));
    }

    fn agrees(&self, poem: &[TokenId]) -> bool {
        let length = self.layout.line_length();
        let lines: Vec<Vec<ToneSet>> =
            (0..self.layout.lines()).map(|line| self.line(line, poem)).collect();
        self.sequences.iter().any(|sequence| {
            let mut lines = (0..).zip(&lines);
            lines.all(|(line, tones)| sequence.line_type(line).can_be(length, tones))
        })
    }
}

/// The fixed characters that fit no line of `sequence` together with those before them in their lines.
fn misfits(template: &Template, sequence: LineSequence) -> Vec<Exemption> {
    let layout = template.layout();
    let length = layout.line_length();
    let mut lines = vec![vec![ToneSet::ANY; length.chars()]; layout.lines()];
    let mut misfits = Vec::new();
    for (line, column, character) in template.fixed() {
        lines[line][column] = fixed_tones(character);
        if !sequence.line_type(line).can_be(length, &lines[line]) {
            lines[line][column] = ToneSet::ANY;
            misfits.push(Exemption { line, column, character, rule: Rule::Tones });
        }
    }
    misfits
}

#[cfg(test)]
mod tests {
    use tang_prosody::{Form, LineLength};
    use tang_tokenizer::Vocabulary;

    use super::*;
    use crate::constraint::tests::allowed_characters;

    /// 人 and 春 level, 月 and 日 oblique, 看 either.
    const CHARACTERS: &str = "人春月日看";

    fn written(template: &str, wanted: Wanted<LineSequence>, poem: &str) -> String {
        let vocabulary = Vocabulary::from_texts([CHARACTERS]);
        let template = Template::parse(template).unwrap();
        let readings = Arc::new(TokenReadings::new(&vocabulary));
        let (constraint, exemptions) = ToneConstraint::new(&template, wanted, readings);
        assert_eq!(exemptions, []);
        allowed_characters(&constraint, template.layout(), poem, &vocabulary, CHARACTERS)
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
