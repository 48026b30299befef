//! The loss on poems that were not trained on.

use serde::{Deserialize, Serialize};
use tang_engine::{Engine, EngineError, KvCache, Threads};
use tang_tokenizer::{TokenId, Vocabulary};

use super::batches::{Row, group_by_length};
use crate::TrainError;

/// Count of positions whose logits a thread computes at once.
const POSITIONS: usize = 256;

/// Mean loss over validation poems, each alone as newline + poem + newline; every character after the first
/// newline is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Nats per character, marks and newline included.
    pub nats_per_char: f64,
    /// Nats per Han character; marks and newline are nearly free.
    pub nats_per_han: f64,
}

/// Measures a model; NaN if it gives infinite logits.
///
/// # Errors
///
/// If a poem has an unknown character or does not fit the context.
pub fn evaluate(
    engine: &Engine,
    poems: &[String],
    vocabulary: &Vocabulary,
    threads: Threads,
) -> Result<Evaluation, TrainError> {
    let (mut all, mut han) = (Mean::default(), Mean::default());
    for group in group_by_length(poems, vocabulary, engine.config().context)? {
        let shares = group.chunks(group.len().div_ceil(threads.count()));
        let losses = threads.map(shares.collect(), |rows: &[Row]| -> Vec<_> {
            rows.iter().map(|row| losses(engine, row)).collect()
        });
        for (row, losses) in group.iter().zip(losses.into_iter().flatten()) {
            for (nats, target) in losses?.into_iter().zip(&row[1..]) {
                all.add(nats);
                if vocabulary.is_han(*target) {
                    han.add(nats);
                }
            }
        }
    }
    Ok(Evaluation { nats_per_char: all.value(), nats_per_han: han.value() })
}

/// Nats of each token of a row after its first.
fn losses(engine: &Engine, row: &[TokenId]) -> Result<Vec<f64>, EngineError> {
    let (inputs, targets) = (&row[..row.len() - 1], &row[1..]);
    let mut cache = KvCache::new(engine.config(), 1);
    let hidden = engine.forward(&[inputs], &mut cache, Threads::ONE)?;
    let hidden = hidden.chunks(POSITIONS * engine.config().width);
    let mut nats = Vec::with_capacity(targets.len());
    for (hidden, targets) in hidden.zip(targets.chunks(POSITIONS)) {
        let targets = targets.iter().enumerate();
        match engine.logits(hidden, Threads::ONE) {
            Ok(logits) => nats.extend(targets.map(|(i, target)| -logits.log_prob(i, *target))),
            Err(EngineError::Overflow) => nats.extend(targets.map(|_| f64::NAN)),
            Err(error) => return Err(error),
        }
    }
    Ok(nats)
}

/// A running mean.
#[derive(Debug, Default)]
pub(crate) struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// NaN if nothing was added.
    pub(crate) fn value(&self) -> f64 {
        self.sum / self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use tang_checkpoint::{ModelConfig, Weights};

    use super::*;

    #[test]
    fn an_untrained_model_guesses_uniformly() {
        let poems = ["春风，春水。", "秋月，秋"].map(str::to_owned);
        let vocabulary = Vocabulary::from_texts(poems.iter().map(String::as_str));
        let config = ModelConfig {
            width: 16,
            feed_forward_width: 64,
            layers: 1,
            ..ModelConfig::tang_4l(vocabulary.len())
        };
        let engine = Engine::pack(&config, &Weights::random(&config, 0)).unwrap();
        let evaluation = evaluate(&engine, &poems, &vocabulary, Threads::ONE).unwrap();
        let two = evaluate(&engine, &poems, &vocabulary, Threads::new(2)).unwrap();
        assert_eq!(evaluation, two);
        let uniform = (vocabulary.len() as f64).ln();
        for nats in [evaluation.nats_per_char, evaluation.nats_per_han] {
            assert!((nats / uniform - 1.0).abs() < 0.05, "{nats} {uniform}");
        }
        assert_ne!(evaluation.nats_per_char, evaluation.nats_per_han);
    }
}
