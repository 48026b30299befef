//! The constraint that puts given characters in their places.

use tang_tokenizer::TokenId;

use crate::{
    Rule,
    constraint::{Constraint, Mask},
};

/// Where a place has a token, nothing else stands there.
pub(crate) struct TemplateConstraint {
    /// One entry a place of the poem.
    pub(crate) fixed: Vec<Option<TokenId>>,
}

impl Constraint for TemplateConstraint {
    fn rule(&self) -> Rule {
        Rule::Given
    }

    fn restrict(&self, poem: &[TokenId], mask: &mut Mask) {
        if let Some(Some(token)) = self.fixed.get(poem.len()) {
            mask.keep_only(*token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::tests::allowed;

    #[test]
    fn fixes_its_places_and_nothing_else() {
        let template = TemplateConstraint {
            fixed: vec![Some(7), None, Some(3)],
        };
        for (place, wanted) in [
            (0, vec![7]),
            (1, (0..9).collect()),
            (2, vec![3]),
            (3, (0..9).collect()),
        ] {
            assert_eq!(allowed(&template, &vec![1; place], 9), wanted, "{place}");
        }
    }
}
