//! What the model says at every position of a text.

use tang_model::{ModelError, Transformer};
use tang_tokenizer::TokenId;

use crate::{Logits, decoder::padded};

/// The logits behind every token of a text, one row a position, in one pass without a cache.
///
/// # Errors
///
/// [`ModelError::ContextFull`] if the text is longer than the context.
///
/// # Panics
///
/// If a token is not in the model's vocabulary.
pub fn position_logits(model: &Transformer, tokens: &[TokenId]) -> Result<Logits, ModelError> {
    let config = model.config();
    let hidden = model.forward(padded(model, &[tokens]), None)?;
    let values = model
        .logits(hidden.reshape([tokens.len(), config.width]))
        .into_data()
        .try_into_vec_as()
        .expect("logits are 32-bit floats");
    Ok(Logits::new(values, config.vocab_size))
}
