//! The constraint that fixes the first character of each line.

use tang_prosody::{Layout, Slot};
use tang_tokenizer::TokenId;

use crate::constraint::{Constraint, Mask};

/// 藏头: line `i` begins with `heads[i]`.
pub(crate) struct AcrosticConstraint {
    pub(crate) layout: Layout,
    pub(crate) heads: Vec<TokenId>,
}

impl Constraint for AcrosticConstraint {
    fn restrict(&self, poem: &[TokenId], mask: &mut Mask) {
        if let Slot::Han { line, column: 0 } = self.layout.slot(poem.len()) {
            mask.keep_only(self.heads[line]);
        }
    }
}

#[cfg(test)]
mod tests {
    use tang_prosody::LineLength;

    use super::*;
    use crate::constraint::tests::allowed;

    #[test]
    fn fixes_the_heads_and_nothing_else() {
        let acrostic = AcrosticConstraint {
            layout: Layout::new(2, LineLength::Five),
            heads: vec![7, 3],
        };
        for place in 0..=12 {
            let wanted: Vec<TokenId> = match place {
                0 => vec![7],
                6 => vec![3],
                _ => (0..9).collect(),
            };
            assert_eq!(allowed(&acrostic, &vec![1; place], 9), wanted, "{place}");
        }
    }
}
