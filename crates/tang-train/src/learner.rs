//! The part of a run that learns. It reads at most one file, and writes none.

use std::{path::Path, time::Instant};

use std::sync::Arc;

use burn::{module::Module, optim::ModuleOptimizer, tensor::Device};
use tang_checkpoint::{ModelConfig, Weights};
use tang_corpus::Split;
use tang_engine::{Engine, Threads};
use tang_files::sha256_hex;
use tang_model::{Dropout, Transformer};
use tang_tokenizer::Vocabulary;

use crate::{
    Evaluation, StepReport, TrainConfig, TrainError,
    batches::{Batches, group_by_length},
    evaluation::evaluate,
    gradients::{batch_gradients, clip_global_norm},
    optimizer::optimizer,
    schedule::learning_rate,
    training_state::{Progress, TrainingState},
};

/// A network that learns its poems step by step, and what a step needs.
pub(crate) struct Learner {
    /// How far it is.
    pub(crate) progress: Progress,
    model: Transformer,
    optimizer: ModuleOptimizer,
    batches: Batches,
    vocabulary: Vocabulary,
    validation: Vec<String>,
}

impl Learner {
    /// Begins with random weights. `model` fixes all of the geometry but the vocabulary, which is
    /// that of the corpus.
    pub(crate) fn start(
        config: TrainConfig,
        model: ModelConfig,
        split: Split,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let vocabulary = split.vocabulary();
        let model = ModelConfig {
            vocab_size: vocabulary.len(),
            ..model
        };
        config.validate()?;
        model.validate()?;
        let state = TrainingState {
            progress: Progress {
                train: config,
                model,
                corpus: corpus_sha256(&split),
                step: 0,
                train_seconds: 0.0,
                tokens: 0,
                best_nats_per_char: None,
            },
            weights: Weights::random(&model, config.seed),
            optimizer: optimizer(&model, config.weight_decay).to_record(),
        };
        Self::new(state, vocabulary, split, device)
    }

    /// Goes on from the state in a file.
    pub(crate) fn resume(path: &Path, split: Split, device: &Device) -> Result<Self, TrainError> {
        let (vocabulary, got) = (split.vocabulary(), corpus_sha256(&split));
        let check = |progress: &Progress| {
            if got != progress.corpus {
                let wanted = progress.corpus.clone();
                return Err(TrainError::OtherCorpus { wanted, got });
            }
            let (got, wanted) = (progress.model.vocab_size, vocabulary.len());
            if got != wanted {
                let reason = format!("its model has {got} characters, and its corpus {wanted}");
                return Err(TrainError::damaged_state(path, reason));
            }
            Ok(())
        };
        let state = TrainingState::read(path, check)?;
        Self::new(state, vocabulary, split, device).map_err(|error| match error {
            TrainError::Model(error) => TrainError::damaged_state(path, error),
            error => error,
        })
    }

    fn new(
        state: TrainingState,
        vocabulary: Vocabulary,
        split: Split,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let TrainingState {
            progress,
            weights,
            optimizer: record,
        } = state;
        let config = &progress.train;
        config.validate()?;
        // A poem that does not fit is found now and not at the first evaluation.
        group_by_length(&split.validation, &vocabulary, progress.model.context)?;
        let batches = Batches::new(
            &split.train,
            &vocabulary,
            progress.model.context,
            config.batch_tokens,
            config.seed,
        )?;
        Ok(Self {
            model: Transformer::new(progress.model, weights, &device.clone().autodiff())?,
            optimizer: optimizer(&progress.model, config.weight_decay).load_record(record),
            batches,
            validation: split.validation,
            vocabulary,
            progress,
        })
    }

    /// Steps in one pass over the training poems.
    pub(crate) fn steps_per_epoch(&self) -> usize {
        self.batches.per_epoch()
    }

    /// The characters that the model knows.
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Characters that the steps left will train on; see [`Batches::tokens`].
    pub(crate) fn tokens_left(&mut self) -> u64 {
        let Progress { step, train, .. } = &self.progress;
        self.batches.tokens(step + 1, train.steps - step)
    }

    /// The next step.
    ///
    /// # Errors
    ///
    /// [`TrainError::Diverged`], and then nothing has changed.
    pub(crate) fn step(&mut self) -> Result<StepReport, TrainError> {
        let started = Instant::now();
        let step = self.progress.step + 1;
        let batch = self.batches.get(step);
        let config = &self.progress.train;
        // No two steps, nor parts of one, have the same draws.
        let dropout = |part| {
            Dropout::new(
                config.dropout,
                config.seed,
                ((step as u64) << 8) + part as u64,
            )
        };
        let (nats_per_char, mut gradients) = batch_gradients(&self.model, batch, dropout)?;
        let gradient_norm = clip_global_norm(&self.model, &mut gradients, config.max_gradient_norm);
        if !(nats_per_char.is_finite() && gradient_norm.is_finite()) {
            return Err(TrainError::Diverged {
                step,
                loss: nats_per_char,
                gradient_norm,
            });
        }
        let rate = learning_rate(config, step);
        self.model = self.optimizer.step(rate, self.model.clone(), gradients);

        self.progress.step = step;
        self.progress.tokens += batch.targets.len() as u64;
        self.progress.train_seconds += started.elapsed().as_secs_f64();
        Ok(StepReport {
            step,
            tokens: self.progress.tokens,
            train_seconds: self.progress.train_seconds,
            nats_per_char,
        })
    }

    /// The weights as they are now, the engine of them, and the loss on the validation poems.
    ///
    /// # Errors
    ///
    /// [`TrainError::Useless`] if the loss is no number.
    pub(crate) fn evaluate(&self) -> Result<(Weights, Arc<Engine>, Evaluation), TrainError> {
        let weights = self.model.valid().weights();
        let engine = Engine::pack(self.model.config(), &weights)?;
        let threads = Threads::available();
        let evaluation = evaluate(&engine, &self.validation, &self.vocabulary, threads)?;
        if !evaluation.nats_per_char.is_finite() {
            return Err(TrainError::Useless {
                step: self.progress.step,
                loss: evaluation.nats_per_char,
            });
        }
        Ok((weights, Arc::new(engine), evaluation))
    }

    /// Everything that is needed to go on from here.
    pub(crate) fn state(&self) -> TrainingState {
        TrainingState {
            progress: self.progress.clone(),
            weights: self.model.valid().weights(),
            optimizer: self.optimizer.to_record(),
        }
    }
}

fn corpus_sha256(split: &Split) -> String {
    // A newline stands in no poem, so it keeps apart poems, and an empty line the two lists.
    sha256_hex([split.train.join("\n"), split.validation.join("\n")].join("\n\n"))
}

#[cfg(test)]
mod tests {
    use tang_model::device;

    use super::*;
    use crate::Preset;

    fn split() -> Split {
        Split {
            train: vec!["春眠不觉晓".to_owned(), "处处闻啼鸟".to_owned()],
            validation: vec!["夜来风雨声".to_owned()],
        }
    }

    #[test]
    fn goes_on_only_with_all_moments() {
        let device = device::cpu();
        let model = ModelConfig {
            width: 16,
            feed_forward_width: 32,
            layers: 1,
            context: 24,
            ..ModelConfig::tang_4l(0)
        };
        let mut learner = Learner::start(Preset::Quick.config(), model, split(), &device).unwrap();
        let fresh = learner.optimizer.to_record();
        learner.step().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        learner.state().write(&path).unwrap();
        let resumed = Learner::resume(&path, split(), &device).unwrap();
        assert_eq!(resumed.progress.step, 1);

        let without = TrainingState {
            optimizer: fresh,
            ..learner.state()
        };
        without.write(&path).unwrap();
        let error = Learner::resume(&path, split(), &device).err().unwrap();
        let wanted = "`momentum.moment_1` of `token_embedding` is missing";
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
