//! The rules that a poem keeps, whatever the probabilities of the model.

pub(crate) mod dead_end;
pub(crate) mod exemption;
pub(crate) mod mask;
mod material;
mod no_repeat;
pub(crate) mod plan;
mod refusal;
mod rhyme;
pub(crate) mod rules;
mod token_readings;
mod tones;
pub(crate) mod verse;
mod words;

use tang_tokenizer::TokenId;

use self::{mask::Mask, rules::Rule};

/// A rule on the characters of a poem. Rules compose: each one removes tokens from a common mask.
trait Constraint: Send + Sync {
    /// Its name in messages.
    fn rule(&self) -> Rule;

    /// Removes the tokens that must not follow `poem`, the tokens since the poem began, as the character at `place`.
    /// No character is fixed there. A fixed character that the vocabulary lacks is a mark in `poem`: it is like no
    /// other character.
    fn restrict(&self, poem: &[TokenId], place: Place, mask: &mut Mask);

    /// Whether the rule still has a character for each place after `poem`, which was written with other fixed
    /// characters to come.
    fn agrees(&self, poem: &[TokenId]) -> bool;
}

/// The place of a character of a poem, counted from 0.
#[derive(Debug, Clone, Copy)]
struct Place {
    line: usize,
    column: usize,
}

#[cfg(test)]
mod tests {
    use tang_prosody::{Layout, Slot};
    use tang_tokenizer::Vocabulary;

    use super::*;

    /// The tokens that a constraint leaves after `poem`, where a character is to come.
    pub(super) fn allowed(
        constraint: &dyn Constraint,
        layout: Layout,
        poem: &[TokenId],
        vocab_size: usize,
    ) -> Vec<TokenId> {
        let mut mask = Mask::all(vocab_size);
        if let Slot::Han { line, column } = layout.slot(poem.len()) {
            constraint.restrict(poem, Place { line, column }, &mut mask);
        }
        mask.tokens().collect()
    }

    /// Those of `characters` that a constraint leaves after `poem`, in their order.
    pub(super) fn allowed_characters(
        constraint: &dyn Constraint,
        layout: Layout,
        poem: &str,
        vocabulary: &Vocabulary,
        characters: &str,
    ) -> String {
        let poem = vocabulary.encode(poem).unwrap();
        let tokens = allowed(constraint, layout, &poem, vocabulary.len());
        let is_left = |c: &char| tokens.contains(&vocabulary.id(*c).unwrap());
        characters.chars().filter(is_left).collect()
    }
}
