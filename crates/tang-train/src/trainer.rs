//! The training loop.

use std::{ops::ControlFlow, time::Instant};

use burn::{module::Module, optim::ModuleOptimizer, tensor::Device};
use tang_corpus::Split;
use tang_files::sha256_hex;
use tang_model::{ModelConfig, ModelFolder, Transformer, Weights};
use tang_tokenizer::Vocabulary;

use crate::{
    Evaluation, LogLine, RunFolder, RunLog, TrainConfig, TrainError,
    batches::{Batches, group_by_length},
    evaluation::evaluate,
    gradients::{batch_gradients, clip_global_norm},
    mean::Mean,
    optimizer::optimizer,
    schedule::learning_rate,
    training_state::{Progress, TrainingState},
};

/// Steps between two lines of the log.
const LOG_EVERY: usize = 10;

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepReport {
    /// Steps done, this one included.
    pub step: usize,
    /// Characters trained on so far.
    pub tokens: u64,
    /// Seconds spent on steps so far.
    pub train_seconds: f64,
    /// Loss of this batch, nats a character.
    pub nats_per_char: f64,
}

/// Somebody who watches a run and may stop it.
pub trait Observer {
    /// After each step; [`ControlFlow::Break`] saves and ends the run.
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()>;

    /// After each evaluation, once all is saved, with the model as it is then, on a device without
    /// autodiff.
    fn on_evaluation(&mut self, report: &StepReport, evaluation: &Evaluation, model: &Transformer);
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Finished,
    /// The observer stopped it; it can be resumed.
    Stopped,
}

/// A training run.
pub struct Trainer {
    progress: Progress,
    model: Transformer,
    optimizer: ModuleOptimizer,
    batches: Batches,
    vocabulary: Vocabulary,
    validation: Vec<String>,
    folder: RunFolder,
    log: RunLog,
}

impl Trainer {
    /// Starts a run in a new folder. `model` fixes all of the geometry but the vocabulary, which
    /// is that of the corpus.
    ///
    /// # Errors
    ///
    /// If the configuration is impossible, the corpus does not fit the model, or a file cannot be
    /// written.
    pub fn start(
        config: TrainConfig,
        model: ModelConfig,
        split: Split,
        folder: RunFolder,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let vocabulary = vocabulary_of(&split);
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
        let trainer = Self::new(state, vocabulary, split, folder, device)?;
        // From here on there is something to resume, whenever the run is killed.
        trainer.save()?;
        Ok(trainer)
    }

    /// Goes on with the run that a folder holds, as if it had never stopped.
    ///
    /// # Errors
    ///
    /// If the state is damaged or belongs to another corpus.
    pub fn resume(split: Split, folder: RunFolder, device: &Device) -> Result<Self, TrainError> {
        let state = TrainingState::read(&folder.state_path())?;
        let got = corpus_sha256(&split);
        if got != state.progress.corpus {
            let wanted = state.progress.corpus;
            return Err(TrainError::OtherCorpus { wanted, got });
        }
        let vocabulary = vocabulary_of(&split);
        Self::new(state, vocabulary, split, folder, device)
    }

    fn new(
        state: TrainingState,
        vocabulary: Vocabulary,
        split: Split,
        folder: RunFolder,
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
        let model = Transformer::new(progress.model, weights, &device.clone().autodiff())?;
        // Only now, so that an impossible run leaves nothing behind.
        vocabulary.save(folder.path())?;
        Ok(Self {
            model,
            optimizer: optimizer(&progress.model, config.weight_decay).load_record(record),
            batches,
            validation: split.validation,
            log: RunLog::open(&folder.log_path(), progress.step)?,
            vocabulary,
            folder,
            progress,
        })
    }

    /// What the run was told.
    pub fn config(&self) -> &TrainConfig {
        &self.progress.train
    }

    /// Steps done so far.
    pub fn step(&self) -> usize {
        self.progress.step
    }

    /// Steps in one pass over the training poems.
    pub fn steps_per_epoch(&self) -> usize {
        self.batches.per_epoch()
    }

    /// The characters that the model knows.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Trains until the last step or until the observer stops it; either way the state is saved.
    ///
    /// # Errors
    ///
    /// If the loss is no number any more, or a file cannot be written. Checkpoints of earlier
    /// steps then stay as they are.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let mut logged = Mean::default();
        while self.progress.step < self.progress.train.steps {
            let report = self.one_step()?;
            let stop = observer.on_step(&report).is_break();
            logged.add(report.nats_per_char);

            let last = report.step == self.progress.train.steps;
            let due = report
                .step
                .is_multiple_of(self.progress.train.evaluate_every);
            let evaluated = if due || last {
                let model = self.model.valid();
                let evaluation = evaluate(&model, &self.validation, &self.vocabulary)?;
                self.keep_if_best(&model, &evaluation)?;
                Some((evaluation, model))
            } else {
                None
            };
            let evaluation = evaluated.as_ref().map(|(evaluation, _)| *evaluation);
            if evaluation.is_some() || stop || report.step.is_multiple_of(LOG_EVERY) {
                self.log.append(&LogLine {
                    step: report.step,
                    train_seconds: report.train_seconds,
                    tokens: report.tokens,
                    train_nats_per_char: std::mem::take(&mut logged).value(),
                    learning_rate: learning_rate(&self.progress.train, report.step),
                    evaluation,
                })?;
            }
            if evaluation.is_some() || stop {
                self.save()?;
            }
            if let Some((evaluation, model)) = evaluated {
                observer.on_evaluation(&report, &evaluation, &model);
            }
            if stop && !last {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    fn one_step(&mut self) -> Result<StepReport, TrainError> {
        let started = Instant::now();
        let step = self.progress.step + 1;
        let batch = self.batches.get(step);
        let (nats_per_char, mut gradients) = batch_gradients(&self.model, batch)?;
        let config = &self.progress.train;
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

    fn keep_if_best(
        &mut self,
        model: &Transformer,
        evaluation: &Evaluation,
    ) -> Result<(), TrainError> {
        let nats = evaluation.nats_per_char;
        if !nats.is_finite() {
            return Err(TrainError::Useless {
                step: self.progress.step,
                loss: nats,
            });
        }
        if self
            .progress
            .best_nats_per_char
            .is_none_or(|best| nats < best)
        {
            let vocabulary = self.vocabulary.fingerprint();
            ModelFolder::save(self.folder.path(), model, &vocabulary)?;
            self.progress.best_nats_per_char = Some(nats);
        }
        Ok(())
    }

    fn save(&self) -> Result<(), TrainError> {
        let state = TrainingState {
            progress: self.progress.clone(),
            weights: Weights::of(&self.model.valid()),
            optimizer: self.optimizer.to_record(),
        };
        state.write(&self.folder.state_path())
    }
}

fn corpus_sha256(split: &Split) -> String {
    // A newline stands in no poem, so it keeps apart poems, and an empty line the two lists.
    sha256_hex([split.train.join("\n"), split.validation.join("\n")].join("\n\n"))
}

/// The characters of all poems, those held back included.
fn vocabulary_of(split: &Split) -> Vocabulary {
    Vocabulary::from_texts(
        split
            .train
            .iter()
            .chain(&split.validation)
            .map(String::as_str),
    )
}
