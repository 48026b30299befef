//! The loss on poems that were not trained on.

use burn::tensor::{Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use tang_model::Transformer;
use tang_tokenizer::{TokenId, Vocabulary};

use crate::{
    TrainError,
    batches::{Batch, group_by_length},
    head_loss::head_nats,
    mean::Mean,
};

/// Poems that are evaluated at once.
const ROWS: usize = 64;

/// Mean loss over validation poems, each read alone as newline + poem + newline, every character
/// after the first newline predicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Nats a character, marks and newline included.
    pub nats_per_char: f64,
    /// Nats a character over Han characters only; marks and newline are nearly free.
    pub nats_per_han: f64,
}

/// Measures a model, which must not be on an autodiff device.
///
/// # Errors
///
/// If a poem has an unknown character or does not fit the context.
pub fn evaluate(
    model: &Transformer,
    poems: &[String],
    vocabulary: &Vocabulary,
) -> Result<Evaluation, TrainError> {
    let (mut all, mut han) = (Mean::default(), Mean::default());
    for group in group_by_length(poems, vocabulary, model.config().context)? {
        for rows in group.chunks(ROWS) {
            let batch = Batch::new(rows);
            let hidden = model.forward(input_tensor(model, &batch), None)?;
            let hidden = hidden.reshape([-1, model.config().width as i32]);
            let nats = head_nats(hidden, model.output_head(), &batch.targets);
            for (nats, target) in nats.into_iter().zip(&batch.targets) {
                all.add(nats);
                if vocabulary.is_han(*target) {
                    han.add(nats);
                }
            }
        }
    }
    Ok(Evaluation {
        nats_per_char: all.value(),
        nats_per_han: han.value(),
    })
}

/// The inputs of a batch on the model's device, `[rows, length]`.
pub(crate) fn input_tensor(model: &Transformer, batch: &Batch) -> Tensor<2, Int> {
    let ids: Vec<i32> = batch.inputs.iter().map(|id: &TokenId| *id as i32).collect();
    let data = TensorData::new(ids, [batch.rows, batch.length()]);
    Tensor::from_data(data, &model.device())
}

#[cfg(test)]
mod tests {
    use tang_model::{ModelConfig, Weights, device};

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
        let model = Transformer::new(config, Weights::random(&config, 0), &device::cpu()).unwrap();
        let evaluation = evaluate(&model, &poems, &vocabulary).unwrap();
        let uniform = (vocabulary.len() as f64).ln();
        for nats in [evaluation.nats_per_char, evaluation.nats_per_han] {
            assert!((nats / uniform - 1.0).abs() < 0.05, "{nats} {uniform}");
        }
        assert_ne!(evaluation.nats_per_char, evaluation.nats_per_han);
    }
}
