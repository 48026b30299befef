//! The constraint against a character that comes twice.

use tang_prosody::{Layout, Slot};
use tang_tokenizer::TokenId;

use crate::{
    Rule,
    constraint::{Constraint, Mask},
};

/// No character twice in a poem, except where the user put it, and except for one doubled within a
/// line, as 悠悠.
pub(crate) struct NoRepeatConstraint {
    pub(crate) layout: Layout,
    /// One entry a place of the poem; what will come is not to come before.
    pub(crate) fixed: Vec<Option<TokenId>>,
}

impl Constraint for NoRepeatConstraint {
    fn rule(&self) -> Rule {
        Rule::NoRepeat
    }

    fn restrict(&self, poem: &[TokenId], mask: &mut Mask) {
        let place = poem.len();
        let Slot::Han { column, .. } = self.layout.slot(place) else {
            return;
        };
        if self.fixed[place].is_some() {
            return;
        }
        let doubled = poem.last().copied().filter(|last| {
            let once = poem.iter().filter(|token| *token == last).count() == 1;
            column > 0 && once && !self.fixed[place..].contains(&Some(*last))
        });
        let held = poem.iter().copied();
        let to_come = self.fixed[place..].iter().copied().flatten();
        for token in held.chain(to_come) {
            if Some(token) != doubled {
                mask.remove(token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tang_prosody::LineLength;

    use super::*;
    use crate::constraint::tests::allowed;

    /// Two lines of five tokens from 3 on; 2 and 1 are their marks.
    fn constraint(fixed: &[(usize, TokenId)]) -> NoRepeatConstraint {
        let layout = Layout::new(2, LineLength::Five);
        let mut places = vec![None; layout.char_count()];
        for (place, token) in fixed {
            places[*place] = Some(*token);
        }
        NoRepeatConstraint {
            layout,
            fixed: places,
        }
    }

    fn left(constraint: &NoRepeatConstraint, poem: &[TokenId]) -> Vec<TokenId> {
        let mut left = allowed(constraint, poem, 9);
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
        let mark = allowed(&free, &next_line[..5], 9);
        assert_eq!(mark.len(), 9, "marks repeat");
    }

    #[test]
    fn what_was_asked_for_comes_where_it_was_asked_for() {
        let fixed = constraint(&[(0, 3), (6, 3), (7, 8)]);
        assert_eq!(left(&fixed, &[3]), [4, 5, 6, 7], "8 and 3 are to come");
        let repeated = [3, 4, 5, 6, 7, 1];
        assert!(left(&fixed, &repeated).contains(&3));
    }
}
