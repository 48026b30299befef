//! The part of a run that learns. It reads and writes one file, the state of the run.

pub(crate) mod batches;
pub(crate) mod evaluation;
pub(crate) mod gradients;
pub(crate) mod head_loss;
mod moments;
mod optimizer;
pub(crate) mod schedule;
mod sound_classes;
mod training_state;

use std::{path::Path, sync::Arc, time::Instant};

use burn::{module::Module, optim::ModuleOptimizer, tensor::Device};
use tang_checkpoint::{ModelConfig, Weights};
use tang_corpus::Split;
use tang_engine::{Engine, Threads};
use tang_files::sha256_hex;
use tang_model::{Dropout, Transformer, device::with_gradients};
use tang_tokenizer::Vocabulary;

use self::{
    batches::{Batches, group_by_length},
    evaluation::{Evaluation, evaluate},
    gradients::{batch_gradients, clip_global_norm},
    optimizer::optimizer,
    schedule::{learning_rate, rhyme_weight},
    sound_classes::SoundClasses,
    training_state::{Progress, TrainingState},
};
use crate::{TrainConfig, TrainError};

/// Streams of dropout per step, one per part of its batch, so that no two have the same draws.
const STREAMS_PER_STEP: usize = 256;

/// Report of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepReport {
    /// Steps done, this one included.
    pub step: usize,
    /// Characters trained on so far.
    pub tokens: u64,
    /// Seconds spent on steps so far.
    pub train_seconds: f64,
    /// Loss of this batch, nats per character.
    pub nats_per_char: f64,
}

/// A network that learns its poems step by step, and the state of its run.
pub(crate) struct Learner {
    pub(crate) progress: Progress,
    model: Transformer,
    optimizer: ModuleOptimizer,
    /// Batches of Song and Tang poems, if steps learn from both.
    song: Option<Batches>,
    tang: Batches,
    pub(crate) vocabulary: Vocabulary,
    validation: Vec<String>,
}

impl Learner {
    /// Begins with random weights. `model` fixes all of the geometry but the vocabulary, which is
    /// that of the corpus.
    pub(crate) fn start(
        config: TrainConfig,
        model: ModelConfig,
        split: &Split,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let vocabulary = split.vocabulary();
        let model = ModelConfig { vocab_size: vocabulary.len(), ..model };
        config.validate()?;
        model.validate()?;
        let progress = Progress {
            train: config,
            model,
            corpus: corpus_sha256(split, &config),
            step: 0,
            train_seconds: 0.0,
            tokens: 0,
            best_nats_per_char: None,
        };
        let weights = Weights::random(&model, config.seed);
        Self::new(progress, weights, vocabulary, split, device)
    }

    /// Goes on from the state in a file.
    pub(crate) fn resume(path: &Path, split: &Split, device: &Device) -> Result<Self, TrainError> {
        let vocabulary = split.vocabulary();
        let check = |progress: &Progress| {
            let got = corpus_sha256(split, &progress.train);
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
        let learner = Self::new(state.progress, state.weights, vocabulary, split, device);
        let mut learner = learner.map_err(|error| match error {
            TrainError::Model(error) => TrainError::damaged_state(path, error),
            error => error,
        })?;
        learner.optimizer = learner.optimizer.load_record(state.optimizer);
        Ok(learner)
    }

    fn new(
        progress: Progress,
        weights: Weights,
        vocabulary: Vocabulary,
        split: &Split,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let (config, context) = (progress.train, progress.model.context);
        // A poem that does not fit is found now and not at the first evaluation.
        group_by_length(&split.validation, &vocabulary, context)?;
        let batches = |poems: &[String]| Batches::new(poems, &vocabulary, context, &config);
        let song = if config.song_steps > 0 {
            if split.song.is_empty() {
                return Err(TrainError::NoSong);
            }
            Some(batches(&[&split.song[..], &split.train, &split.train].concat())?)
        } else {
            None
        };
        Ok(Self {
            model: Transformer::new(progress.model, weights, &with_gradients(device))?,
            optimizer: optimizer(
                &progress.model,
                config.weight_decay,
                SoundClasses::new(&vocabulary),
            ),
            song,
            tang: batches(&split.train)?,
            validation: split.validation.clone(),
            vocabulary,
            progress,
        })
    }

    /// Steps in one pass over the training poems.
    pub(crate) fn steps_per_epoch(&self) -> usize {
        self.tang.per_epoch()
    }

    /// Characters that the steps left will train on; see [`Batches::tokens`].
    pub(crate) fn tokens_left(&mut self) -> u64 {
        let Progress { step, train, .. } = &self.progress;
        let with_song = train.song_steps.saturating_sub(*step);
        let song = self.song.as_mut().map_or(0, |song| song.tokens(step + 1, with_song));
        let first = step.saturating_sub(train.song_steps) + 1;
        song.saturating_add(self.tang.tokens(first, train.steps - step - with_song))
    }

    /// Whether these are counted, and not estimated.
    pub(crate) fn counts_tokens_left(&self) -> bool {
        let Progress { step, train, .. } = &self.progress;
        let with_song = train.song_steps.saturating_sub(*step);
        let song = self.song.as_ref().is_none_or(|song| song.counts(with_song));
        song && self.tang.counts(train.steps - step - with_song)
    }

    /// The next step.
    ///
    /// # Errors
    ///
    /// [`TrainError::Diverged`] if the loss or a gradient is no number, and then nothing has changed;
    /// [`TrainError::Threads`] if the system gives none.
    pub(crate) fn step(&mut self) -> Result<StepReport, TrainError> {
        let started = Instant::now();
        let step = self.progress.step + 1;
        let config = &self.progress.train;
        let (batch, share) = match &mut self.song {
            Some(song) if step <= config.song_steps => (song.load(step), 0.0),
            _ => (self.tang.load(step - config.song_steps), config.dropout),
        };
        let dropout = |part| {
            let stream = step * STREAMS_PER_STEP + part;
            Dropout::new(share, config.seed, stream as u64)
        };
        let (nats_per_char, mut gradients) =
            batch_gradients(&self.model, batch, rhyme_weight(config, step), dropout)?;
        let gradient_norm = clip_global_norm(&self.model, &mut gradients, config.max_gradient_norm);
        if !(nats_per_char.is_finite() && gradient_norm.is_finite()) {
            return Err(TrainError::Diverged { step, loss: nats_per_char, gradient_norm });
        }
        let rate = learning_rate(config, step);
        self.model = self.optimizer.step(rate, self.model.clone(), gradients);

        self.progress.step = step;
        self.progress.tokens += batch.tokens() as u64;
        self.progress.train_seconds += started.elapsed().as_secs_f64();
        Ok(StepReport {
            step,
            tokens: self.progress.tokens,
            train_seconds: self.progress.train_seconds,
            nats_per_char,
        })
    }

    /// The weights as they are now, their engine, and the loss on the validation poems.
    ///
    /// # Errors
    ///
    /// [`TrainError::ValidationNotFinite`] if the loss is no number.
    pub(crate) fn evaluate(&self) -> Result<(Weights, Arc<Engine>, Evaluation), TrainError> {
        let weights = self.model.valid().weights();
        let engine = Engine::pack(self.model.config(), &weights)?;
        let threads = Threads::available();
        let evaluation = evaluate(&engine, &self.validation, &self.vocabulary, threads)?;
        if !evaluation.nats_per_char.is_finite() {
            return Err(TrainError::ValidationNotFinite {
                step: self.progress.step,
                loss: evaluation.nats_per_char,
            });
        }
        Ok((weights, Arc::new(engine), evaluation))
    }

    /// Writes the state from which the run goes on.
    pub(crate) fn save(&self, path: &Path) -> Result<(), TrainError> {
        self.state().write(path)
    }

    fn state(&self) -> TrainingState {
        TrainingState {
            progress: self.progress.clone(),
            weights: self.model.valid().weights(),
            optimizer: self.optimizer.to_record(),
        }
    }
}

/// SHA-256 of the poems of a run.
fn corpus_sha256(split: &Split, config: &TrainConfig) -> String {
    let mut lists = vec![&split.train, &split.validation];
    if config.song_steps > 0 {
        lists.push(&split.song);
    }
    // No poem has a newline: one separates poems, and an empty line the lists.
    sha256_hex(lists.into_iter().map(|poems| poems.join("\n")).collect::<Vec<_>>().join("\n\n"))
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
            ..Split::default()
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
        let mut learner = Learner::start(Preset::Quick.config(), model, &split(), &device).unwrap();
        let fresh = learner.optimizer.to_record();
        learner.step().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        learner.state().write(&path).unwrap();
        let resumed = Learner::resume(&path, &split(), &device).unwrap();
        assert_eq!(resumed.progress.step, 1);

        let without = TrainingState { optimizer: fresh, ..learner.state() };
        without.write(&path).unwrap();
        let error = Learner::resume(&path, &split(), &device).err().unwrap();
        let wanted = "`momentum.moment_1` of `token_embedding` is missing";
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
