//! The parts of a verse that are the same for all templates.

use std::sync::Arc;

use tang_tokenizer::Vocabulary;

use super::{rules::Rules, token_readings::TokenReadings};

/// The rules, the characters and their sounds.
pub(super) struct Material {
    pub(super) rules: Rules,
    pub(super) vocabulary: Vocabulary,
    /// Per token, whether it is a Han character.
    pub(super) han: Vec<bool>,
    /// `None` if no rule asks for them.
    pub(super) readings: Option<Arc<TokenReadings>>,
}

impl Material {
    /// The characters of a vocabulary under these rules.
    pub(super) fn new(rules: &Rules, vocabulary: &Vocabulary) -> Self {
        let sounds = rules.tones.is_some() || rules.rhyme.is_some();
        Self {
            rules: *rules,
            vocabulary: vocabulary.clone(),
            han: vocabulary.iter().map(|(token, _)| vocabulary.is_han(token)).collect(),
            readings: sounds.then(|| Arc::new(TokenReadings::new(vocabulary))),
        }
    }
}
