//! The constraint that gives a poem its lines.

use tang_prosody::{COMMA as COMMA_MARK, Layout, Slot};
use tang_tokenizer::{COMMA, FULL_STOP, NEWLINE, TokenId, Vocabulary};

use crate::{
    Rule,
    constraint::{Constraint, Mask},
};

/// Han characters where the layout has them, its marks between them, and the newline at its end.
pub(crate) struct FormConstraint {
    layout: Layout,
    /// One flag a token: whether it is a Han character.
    han: Vec<bool>,
}

impl FormConstraint {
    pub(crate) fn new(layout: Layout, vocabulary: &Vocabulary) -> Self {
        let han = vocabulary
            .iter()
            .map(|(token, _)| vocabulary.is_han(token))
            .collect();
        Self { layout, han }
    }
}

impl Constraint for FormConstraint {
    fn rule(&self) -> Rule {
        Rule::Form
    }

    fn restrict(&self, poem: &[TokenId], mask: &mut Mask) {
        match self.layout.slot(poem.len()) {
            Slot::Han { .. } => mask.keep_set(&self.han),
            Slot::Mark(COMMA_MARK) => mask.keep_only(COMMA),
            Slot::Mark(_) => mask.keep_only(FULL_STOP),
            Slot::End => mask.keep_only(NEWLINE),
        }
    }
}

#[cfg(test)]
mod tests {
    use tang_prosody::LineLength;

    use super::*;
    use crate::constraint::tests::allowed;

    #[test]
    fn each_place_has_its_kind() {
        let vocabulary = Vocabulary::from_texts(["春风A"]);
        let form = FormConstraint::new(Layout::new(2, LineLength::Five), &vocabulary);
        let han: Vec<_> = "春风".chars().map(|c| vocabulary.id(c).unwrap()).collect();
        let mut poem = Vec::new();
        for place in 0..=12 {
            let wanted = match place {
                5 => vec![COMMA],
                11 => vec![FULL_STOP],
                12 => vec![NEWLINE],
                _ => han.clone(),
            };
            assert_eq!(allowed(&form, &poem, vocabulary.len()), wanted, "{place}");
            poem.push(wanted[0]);
        }
    }
}
