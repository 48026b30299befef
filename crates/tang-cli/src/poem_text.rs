//! The text of a poem from its tokens.

use tang_tokenizer::{NEWLINE, TokenId, TokenizerError, Vocabulary};

/// The characters of these tokens, without the newlines that begin and end a poem.
///
/// # Errors
///
/// If a token is none of the vocabulary's.
pub fn poem_text(vocabulary: &Vocabulary, tokens: &[TokenId]) -> Result<String, TokenizerError> {
    let tokens: Vec<TokenId> = tokens.iter().copied().filter(|t| *t != NEWLINE).collect();
    vocabulary.decode(&tokens)
}
