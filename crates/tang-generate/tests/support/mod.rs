//! Models and tasks that the tests of this folder share.

use std::sync::Arc;

use tang_checkpoint::{ModelConfig, Weights, parameters};
use tang_engine::{Engine, Threads};
use tang_tokenizer::Vocabulary;

/// Threads of the decoders.
pub const TWO: Threads = Threads::new(2);

/// Positions of the model.
pub const CONTEXT: usize = 40;

/// 128 characters.
pub fn vocabulary() -> Vocabulary {
    let characters: String = ('一'..='乿').collect();
    Vocabulary::from_texts([characters.as_str()])
}

/// A small model that is not trained.
pub fn model(vocabulary: &Vocabulary) -> Arc<Engine> {
    model_with(vocabulary, CONTEXT)
}

/// The same with another number of positions.
pub fn model_with(vocabulary: &Vocabulary, context: usize) -> Arc<Engine> {
    let config = ModelConfig {
        width: 16,
        feed_forward_width: 64,
        layers: 2,
        context,
        ..ModelConfig::tang_4l(vocabulary.len())
    };
    // Weights as large as trained ones, so that tokens depend on the tokens before them.
    let mut weights = Weights::default();
    for (n, spec) in parameters(&config).into_iter().enumerate() {
        let values = (0..spec.numel())
            .map(|i| ((i * 7919 + n * 104_729) as f32 * 0.618).sin() * 0.7)
            .collect();
        weights.insert(spec.path, spec.shape, values);
    }
    Arc::new(Engine::pack(&config, &weights).unwrap())
}
