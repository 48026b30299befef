//! The forward passes of every generation.

use tang_engine::{Decoder, EngineError, Logits};
use tang_tokenizer::TokenId;

use crate::Sequence;

/// Sequences that grow together, one per row of a decoder. Their tokens go through the model here and nowhere else;
/// the decoder alone knows which have done so.
pub(crate) struct Rows {
    pub(crate) sequences: Vec<Sequence>,
    has_begun: bool,
}

impl Rows {
    /// Sequences that have [begun](Sequence::begin), and that the decoder does not have yet.
    pub(crate) fn new(sequences: Vec<Sequence>) -> Self {
        Self { sequences, has_begun: false }
    }

    /// Prefills all prompts the first time, and decodes the next token of each sequence from then on. Gives the
    /// logits after the last token that the decoder has of each.
    ///
    /// # Errors
    ///
    /// Those of [`Decoder::append`].
    pub(crate) fn forward(&mut self, decoder: &mut dyn Decoder) -> Result<Logits, EngineError> {
        let tokens = self.sequences.iter().map(Sequence::tokens);
        let logits = if self.has_begun {
            let next = tokens.zip(decoder.lengths()).map(|(tokens, length)| tokens[length]);
            let next: Vec<TokenId> = next.collect();
            decoder.decode(&next)?
        } else {
            let prompts: Vec<&[TokenId]> = tokens.collect();
            decoder.prefill(&prompts)?
        };
        self.has_begun = true;
        Ok(logits)
    }
}
