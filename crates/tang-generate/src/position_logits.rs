//! What the model says at every position of a text.

use tang_model::{KvCache, ModelError, Transformer};
use tang_tokenizer::TokenId;

use crate::{
    Logits,
    decoder::{logits, padded},
};

/// The logits behind every token of a text, one row a position, in one pass. With a cache of one
/// row, the text stands behind what it holds and is added to it.
///
/// # Errors
///
/// [`ModelError::TextTooLong`] if the text is longer than the context,
/// [`ModelError::ContextFull`] if it is too long behind what the cache holds.
///
/// # Panics
///
/// If a token is not in the model's vocabulary, or the cache has not one row.
pub fn position_logits(
    model: &Transformer,
    tokens: &[TokenId],
    cache: Option<&mut KvCache>,
) -> Result<Logits, ModelError> {
    let config = model.config();
    let hidden = model.forward(padded(model, &[tokens]), cache)?;
    logits(model, hidden.reshape([tokens.len(), config.width]))
}
