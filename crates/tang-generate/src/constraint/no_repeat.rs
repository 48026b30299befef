//! The constraint against a character that comes twice.

use tang_tokenizer::TokenId;

use super::{Constraint, Place, mask::Mask, rules::Rule};

/// No character twice in a poem, except where the user put it, and except for one doubled within a line, as 悠悠.
pub(super) struct NoRepeatConstraint {
    /// The tokens of the fixed characters that the vocabulary has, one entry per position of the poem.
    pub(super) fixed: Vec<Option<TokenId>>,
}

impl Constraint for NoRepeatConstraint {
    fn rule(&self) -> Rule {
        Rule::NoRepeat
    }

    fn restrict(&self, poem: &[TokenId], place: Place, mask: &mut Mask) {
        let to_come = &self.fixed[poem.len()..];
        let doubled = poem.last().copied().filter(|last| {
            let once = poem.iter().filter(|token| *token == last).count() == 1;
            place.column > 0 && once && !to_come.contains(&Some(*last))
        });
        for token in poem.iter().chain(to_come.iter().flatten()) {
            if Some(*token) != doubled {
                mask.remove(*token);
            }
        }
    }

    fn agrees(&self, _: &[TokenId]) -> bool {
        // The characters of words were to come at other places, so the poem has none of them.
        true
    }
}

#[cfg(test)]
mod tests {
    use tang_prosody::{Layout, LineLength, Template};
    use tang_tokenizer::Vocabulary;

    use super::*;
    use crate::constraint::{plan::Plan, rules::Rules, tests::allowed};

    const LAYOUT: Layout = Layout::new(2, LineLength::Five);

    /// Two lines of five tokens from 3 on; 2 and 1 are their marks.
    fn constraint(fixed: &[(usize, TokenId)]) -> NoRepeatConstraint {
        let mut places = vec![None; LAYOUT.char_count()];
        for (place, token) in fixed {
            places[*place] = Some(*token);
        }
        NoRepeatConstraint { fixed: places }
    }

    fn left(constraint: &NoRepeatConstraint, poem: &[TokenId]) -> Vec<TokenId> {
        let mut left = allowed(constraint, LAYOUT, poem, 9);
        left.retain(|token| *token >= 3);
        left
    }

    #[test]
    fn a_character_comes_once_or_doubled() {
        let free = constraint(&[]);
        assert_eq!(left(&free, &[]), [3, 4, 5, 6, 7, 8]);
        assert_eq!(left(&free, &[3, 4]), [4, 5, 6, 7, 8], "4 may be doubled");
        assert_eq!(left(&free, &[3, 4, 4]), [5, 6, 7, 8], "but not tripled");
        assert_eq!(left(&free, &[3, 4, 3]), [5, 6, 7, 8], "3 came before");
        let next_line = [3, 4, 5, 6, 7, 1];
        assert_eq!(left(&free, &next_line), [8], "not across lines");
        let mark = allowed(&free, LAYOUT, &next_line[..5], 9);
        assert_eq!(mark.len(), 9, "marks repeat");
    }

    #[test]
    fn what_was_asked_for_comes_where_it_was_asked_for() {
        let fixed = constraint(&[(0, 3), (6, 3), (7, 8)]);
        assert_eq!(left(&fixed, &[3]), [4, 5, 6, 7], "8 and 3 are to come");
        let vocabulary = Vocabulary::from_texts(["一丁七丈万"]);
        let template = Template::parse("一****，一****。").unwrap();
        let rules = Rules { no_repeat: true, ..Rules::default() };
        let plan = Plan::new(&template, &rules, &[], &vocabulary).unwrap();
        let mask = plan.mask(&[3, 4, 5, 6, 7, 1]).unwrap();
        assert_eq!(mask.tokens().collect::<Vec<_>>(), [3]);
    }
}
