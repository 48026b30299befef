//! A poem of a fixed layout, with its given characters and its rules.

use std::sync::Arc;

use tang_prosody::{COMMA, Form, Layout, Slot, Template};
use tang_tokenizer::{COMMA_ID, FULL_STOP_ID, NEWLINE, TokenId};

use super::{
    Constraint, Place, dead_end::DeadEnd, exemption::Exemption, mask::Mask, material::Material,
    no_repeat::NoRepeatConstraint, rhyme::RhymeConstraint, rules::Rule,
    token_readings::TokenReadings, tones::ToneConstraint,
};
use crate::GenerateError;

/// A poem of a fixed layout: Han characters, marks and the newline at its end, the fixed characters in their places,
/// and the rules of the others.
pub(crate) struct Verse {
    pub(crate) layout: Layout,
    material: Arc<Material>,
    /// The tokens that the model reads for the fixed characters, one entry per position of the poem.
    fixed: Vec<Option<TokenId>>,
    constraints: Vec<Box<dyn Constraint>>,
    /// The fixed characters that cannot keep the rules.
    pub(crate) exemptions: Vec<Exemption>,
}

impl Verse {
    /// The lines of a template.
    ///
    /// # Errors
    ///
    /// Those of [`Task::verse`](crate::Task::verse), but for those of exemptions.
    pub(super) fn new(
        template: &Template,
        material: &Arc<Material>,
    ) -> Result<Self, GenerateError> {
        let layout = template.layout();
        let text: String = template.fixed().map(|(_, _, character)| character).collect();
        let mut fixed = vec![None; layout.char_count()];
        let tokens = material.vocabulary.encode_given(&text)?;
        for ((line, column, _), token) in template.fixed().zip(tokens) {
            fixed[layout.position(line, column)] = Some(token);
        }
        let mut verse = Self {
            layout,
            material: material.clone(),
            fixed,
            constraints: Vec::new(),
            exemptions: Vec::new(),
        };
        if let Some(readings) = &material.readings {
            verse.add_sounds(template, readings)?;
        }
        if material.rules.no_repeat {
            let mut fixed = vec![None; layout.char_count()];
            for (line, column, character) in template.fixed() {
                fixed[layout.position(line, column)] = material.vocabulary.id(character);
            }
            verse.constraints.push(Box::new(NoRepeatConstraint { fixed }));
        }
        Ok(verse)
    }

    /// Adds the rules of tones and rhyme, as far as they are wanted.
    fn add_sounds(
        &mut self,
        template: &Template,
        readings: &Arc<TokenReadings>,
    ) -> Result<(), GenerateError> {
        let Material { rules, vocabulary, .. } = &*self.material;
        if let Some(wanted) = rules.tones {
            if !Form::ALL.iter().any(|form| Layout::from(*form) == self.layout) {
                let lines = self.layout.lines();
                return Err(GenerateError::NoTones { lines });
            }
            let (tones, exemptions) = ToneConstraint::new(template, wanted, readings.clone());
            self.exemptions.extend(exemptions);
            self.constraints.push(Box::new(tones));
        }
        if let Some(wanted) = rules.rhyme {
            let first_line = rules.tones.is_some();
            let (rhyme, exemptions) =
                RhymeConstraint::new(template, wanted, first_line, vocabulary, readings.clone())?;
            self.exemptions.extend(exemptions);
            self.constraints.push(Box::new(rhyme));
        }
        Ok(())
    }

    /// Whether `poem`, the tokens since the poem began, has the fixed characters in their places and leaves
    /// characters by the rules for the places after it.
    pub(super) fn agrees(&self, poem: &[TokenId]) -> bool {
        let mut pairs = self.fixed.iter().zip(poem);
        // A mark is a given character that the model reads by a stand-in.
        let agrees = |fixed: TokenId, token| token == COMMA_ID || fixed == token;
        pairs.all(|(fixed, token)| fixed.is_none_or(|fixed| agrees(fixed, *token)))
            && self.constraints.iter().all(|constraint| constraint.agrees(poem))
    }

    /// The fixed token at a position of the poem.
    pub(super) fn fixed(&self, position: usize) -> Option<TokenId> {
        *self.fixed.get(position)?
    }

    /// The tokens that may follow `poem`, the tokens since the poem began, with a mark for each stand-in.
    ///
    /// # Errors
    ///
    /// [`GenerateError::NothingAllowed`] if there is none.
    pub(crate) fn mask(&self, poem: &[TokenId]) -> Result<Mask, GenerateError> {
        let mut mask = Mask::all(self.material.han.len());
        let place = match self.layout.slot(poem.len()) {
            Slot::Mark(COMMA) => return Ok(only(mask, COMMA_ID)),
            Slot::Mark(_) => return Ok(only(mask, FULL_STOP_ID)),
            Slot::End => return Ok(only(mask, NEWLINE)),
            Slot::Han { line, column } => Place { line, column },
        };
        if let Some(token) = self.fixed[poem.len()] {
            return Ok(only(mask, token));
        }
        let (mut others, mut left) = (Vec::new(), mask.count());
        let mut check = |rule, mask: &Mask| {
            let count = mask.count();
            if count == 0 {
                let Place { line, column } = place;
                let others = std::mem::take(&mut others);
                return Err(GenerateError::NothingAllowed(DeadEnd {
                    line,
                    column,
                    rule,
                    left,
                    others,
                }));
            }
            if count < left {
                left = count;
                others.push(rule);
            }
            Ok(())
        };
        mask.keep_by(&self.material.han, |is_han| is_han);
        check(Rule::Form, &mask)?;
        for constraint in &self.constraints {
            constraint.restrict(poem, place, &mut mask);
            check(constraint.rule(), &mask)?;
        }
        Ok(mask)
    }
}

fn only(mut mask: Mask, token: TokenId) -> Mask {
    mask.keep_only(token);
    mask
}

#[cfg(test)]
mod tests {
    use tang_prosody::LineLength;
    use tang_tokenizer::Vocabulary;

    use super::*;
    use crate::Rules;

    fn verse(template: &Template, vocabulary: &Vocabulary) -> Verse {
        let material = Arc::new(Material::new(&Rules::default(), vocabulary));
        Verse::new(template, &material).unwrap()
    }

    fn allowed(verse: &Verse, poem: &[TokenId]) -> Vec<TokenId> {
        verse.mask(poem).unwrap().tokens().collect()
    }

    #[test]
    fn each_place_has_its_kind() {
        let vocabulary = Vocabulary::from_texts(["春风A"]);
        let template = Template::free(Layout::new(2, LineLength::Five));
        let verse = verse(&template, &vocabulary);
        let han: Vec<_> = "春风".chars().map(|c| vocabulary.id(c).unwrap()).collect();
        let mut poem = Vec::new();
        for place in 0..=12 {
            let wanted = match place {
                5 => vec![COMMA_ID],
                11 => vec![FULL_STOP_ID],
                12 => vec![NEWLINE],
                _ => han.clone(),
            };
            assert_eq!(allowed(&verse, &poem), wanted, "{place}");
            poem.push(wanted[0]);
        }
    }

    #[test]
    fn given_characters_have_their_places_and_nothing_else() {
        let vocabulary = Vocabulary::from_texts(["一丁七万"]);
        let template = Template::parse("万*一**。").unwrap();
        let verse = verse(&template, &vocabulary);
        let id = |c| vocabulary.id(c).unwrap();
        let all: Vec<TokenId> = (3..7).collect();
        for (place, wanted) in
            [(0, vec![id('万')]), (1, all.clone()), (2, vec![id('一')]), (3, all)]
        {
            assert_eq!(allowed(&verse, &vec![3; place]), wanted, "{place}");
        }
    }
}
