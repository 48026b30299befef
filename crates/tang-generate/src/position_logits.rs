//! What the model says at every position of a text.

use tang_model::{ModelError, Transformer};
use tang_tokenizer::TokenId;

use crate::{
    Logits,
    decoder::{logits, padded},
};

/// The logits behind every token of a text, one row a position, in one pass without a cache.
///
/// # Errors
///
/// [`ModelError::TextTooLong`] if the text is longer than the context.
///
/// # Panics
///
/// If a token is not in the model's vocabulary.
pub fn position_logits(model: &Transformer, tokens: &[TokenId]) -> Result<Logits, ModelError> {
    let config = model.config();
    let hidden = model.forward(padded(model, &[tokens]), None)?;
    logits(model, hidden.reshape([tokens.len(), config.width]))
}
