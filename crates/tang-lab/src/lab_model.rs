//! The model under test.

use tang_model::Transformer;
use tang_tokenizer::Vocabulary;

/// A trained model with the characters it knows.
#[derive(Debug)]
pub struct LabModel {
    /// The network.
    pub model: Transformer,
    /// Its characters.
    pub vocabulary: Vocabulary,
    /// What reports call it, for instance its folder.
    pub name: String,
}

impl LabModel {
    /// Positions that the model has.
    pub(crate) fn context(&self) -> usize {
        self.model.config().context
    }
}
