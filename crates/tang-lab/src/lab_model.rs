//! The model under test.

use tang_checkpoint::{ModelConfig, Weights};
use tang_engine::{Decoder, EngineError, Logits, Model, Threads};
use tang_generate::{GenerateError, Task};
use tang_tokenizer::{TokenId, Vocabulary};

use crate::Subject;

/// A trained model with the characters it knows.
pub struct LabModel {
    /// The model.
    pub model: Box<dyn Model>,
    /// Its characters.
    pub vocabulary: Vocabulary,
    /// Its name in reports, for instance its folder.
    pub name: String,
    /// Threads that it may use.
    pub threads: Threads,
}

impl LabModel {
    /// Positions that the model has.
    pub(crate) fn context(&self) -> usize {
        self.model.config().context
    }

    /// A decoder with the cache.
    pub(crate) fn cached(&self) -> Box<dyn Decoder> {
        self.model.cached(self.threads)
    }

    /// A decoder without a cache.
    pub(crate) fn uncached(&self) -> Box<dyn Decoder> {
        self.model.uncached(self.threads)
    }

    /// The logits after every token of a text, in one pass.
    ///
    /// # Errors
    ///
    /// [`EngineError::TextTooLong`] if it is longer than the context, [`EngineError::Overflow`].
    pub(crate) fn position_logits(&self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let mut decoder = self.uncached();
        decoder.start(1);
        decoder.position_logits(tokens)
    }

    /// The text of a poem, without the newlines that begin and end it.
    pub(crate) fn text(&self, tokens: &[TokenId]) -> Result<String, GenerateError> {
        let text = self.vocabulary.decode(tokens)?;
        Ok(text.trim_matches('\n').to_owned())
    }

    /// What figures measured on this model say of it.
    pub(crate) fn subject(&self) -> Subject {
        Subject {
            random_weights: false,
            context: self.context(),
        }
    }

    /// A model of the same geometry and vocabulary with `context` positions and random weights,
    /// for texts longer than the trained one has positions for.
    ///
    /// # Errors
    ///
    /// If the geometry is impossible with that many positions.
    pub(crate) fn with_random_weights(
        &self,
        context: usize,
    ) -> Result<(Self, Subject), EngineError> {
        let config = ModelConfig {
            context,
            ..*self.model.config()
        };
        let weights = Weights::random(&config, 0);
        let lab = Self {
            model: self.model.of_weights(&config, &weights)?,
            vocabulary: self.vocabulary.clone(),
            name: self.name.clone(),
            threads: self.threads,
        };
        let subject = Subject {
            random_weights: true,
            ..lab.subject()
        };
        Ok((lab, subject))
    }

    /// A task whose prompt has `tokens` tokens: the newline, then characters of the vocabulary in
    /// its own order, which makes no verse but as much work.
    pub(crate) fn prompt(&self, tokens: usize) -> Result<Task, GenerateError> {
        let characters = || {
            self.vocabulary
                .iter()
                .skip(1)
                .map(|(_, character)| character)
        };
        let text: String = std::iter::repeat_with(characters)
            .flatten()
            .take(tokens - 1)
            .collect();
        if text.is_empty() {
            Ok(Task::open())
        } else {
            Task::continuation(&text, &self.vocabulary)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use tang_engine::Engine;

    use super::*;

    /// A model as small as can be, for tests.
    pub(crate) fn small(config: impl Fn(usize) -> ModelConfig) -> LabModel {
        let vocabulary = Vocabulary::from_texts(["床前明月光疑是地上霜"]);
        let config = ModelConfig {
            width: 16,
            feed_forward_width: 32,
            layers: 2,
            context: 48,
            ..config(vocabulary.len())
        };
        LabModel {
            model: Box::new(Arc::new(
                Engine::pack(&config, &Weights::random(&config, 1)).unwrap(),
            )),
            vocabulary,
            name: "small".to_owned(),
            threads: Threads::available(),
        }
    }

    #[test]
    fn prompts_have_the_length_asked_for() {
        let lab = small(ModelConfig::tang_4l);
        for tokens in [1, 2, 40] {
            assert_eq!(lab.prompt(tokens).unwrap().prompt().len(), tokens);
        }
    }

    #[test]
    fn random_weights_keep_all_but_the_context() {
        let lab = small(ModelConfig::minimind_4l);
        let (random, subject) = lab.with_random_weights(256).unwrap();
        let wanted = ModelConfig {
            context: 256,
            ..*lab.model.config()
        };
        assert_eq!(*random.model.config(), wanted);
        assert_eq!(subject.to_string(), "random weights, context 256");
        assert_eq!(lab.subject().to_string(), "trained, context 48");
    }
}
