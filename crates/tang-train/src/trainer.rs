//! The training loop.

pub(crate) mod plan;
pub(crate) mod run_folder;
pub(crate) mod run_log;

use std::{mem, ops::ControlFlow, path::Path, sync::Arc};

use burn::tensor::Device;
use tang_checkpoint::{ModelConfig, ModelFolder};
use tang_corpus::Split;
use tang_engine::Engine;
use tang_tokenizer::Vocabulary;

use self::{
    run_folder::RunFolder,
    run_log::{LogLine, RunLog},
};
use crate::{
    Evaluation, StepReport, TrainConfig, TrainError,
    learner::{Learner, evaluation::Mean, schedule::learning_rate},
};

/// Steps between two lines of the log.
const LOG_EVERY: usize = 10;

/// An observer of a run, which may stop it.
pub trait Observer {
    /// Called after each step; [`ControlFlow::Break`] saves and ends the run.
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()>;

    /// Called after each evaluation, once all is saved, with the engine of the model.
    fn on_evaluation(&mut self, report: &StepReport, evaluation: &Evaluation, engine: &Arc<Engine>);
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
    learner: Learner,
    folder: RunFolder,
    log: RunLog,
}

impl Trainer {
    /// Starts a run in `folder`, which is created if need be. `model` fixes all of the geometry but
    /// the vocabulary, which is that of the corpus. An impossible run writes nothing.
    ///
    /// # Errors
    ///
    /// If the configuration is impossible or the corpus does not fit the model;
    /// [`TrainError::RunExists`] if the folder has a run, [`TrainError::NotEmpty`] if it has
    /// anything else, [`TrainError::Locked`] if another process trains into it; if a file cannot be
    /// written.
    pub fn start(
        config: TrainConfig,
        model: ModelConfig,
        split: Split,
        folder: &Path,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let learner = Learner::start(config, model, &split, device)?;
        let folder = RunFolder::start(folder)?;
        // The state is saved before the first step, so that a killed run can always be resumed.
        learner.save(&folder.state_path())?;
        Self::new(learner, folder)
    }

    /// Goes on with the run in a folder, as if it had never stopped.
    ///
    /// # Errors
    ///
    /// If the state is damaged or belongs to another corpus.
    pub fn resume(split: Split, folder: RunFolder, device: &Device) -> Result<Self, TrainError> {
        let learner = Learner::resume(&folder.state_path(), &split, device)?;
        Self::new(learner, folder)
    }

    fn new(learner: Learner, folder: RunFolder) -> Result<Self, TrainError> {
        // The log is read first: if it is damaged, nothing is written.
        let log = RunLog::open(&folder.log_path(), learner.progress.step)?;
        learner.vocabulary.save(folder.path())?;
        Ok(Self { learner, folder, log })
    }

    /// The folder of the run.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Configuration of the run.
    pub fn config(&self) -> &TrainConfig {
        &self.learner.progress.train
    }

    /// Steps done so far.
    pub fn step(&self) -> usize {
        self.learner.progress.step
    }

    /// Characters trained on so far.
    pub fn tokens(&self) -> u64 {
        self.learner.progress.tokens
    }

    /// Seconds spent on steps so far; evaluation and saving are not counted.
    pub fn train_seconds(&self) -> f64 {
        self.learner.progress.train_seconds
    }

    /// Steps in one pass over the training poems.
    pub fn steps_per_epoch(&self) -> usize {
        self.learner.steps_per_epoch()
    }

    /// The characters that the model knows.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.learner.vocabulary
    }

    /// The geometry of the model.
    pub fn model(&self) -> &ModelConfig {
        &self.learner.progress.model
    }

    /// Trains until the last step or until the observer stops it; either way the state is saved.
    ///
    /// # Errors
    ///
    /// If the loss is no number any more, or a file cannot be written. Checkpoints of earlier
    /// steps then stay as they are.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let mut logged = Mean::default();
        while self.step() < self.config().steps {
            let report = self.learner.step()?;
            let stop = observer.on_step(&report).is_break();
            logged.add(report.nats_per_char);

            let last = report.step == self.config().steps;
            let due = report.step.is_multiple_of(self.config().evaluate_every);
            let evaluated = if due || last { Some(self.evaluate()?) } else { None };
            let evaluation = evaluated.as_ref().map(|(evaluation, _)| *evaluation);
            let save = evaluated.is_some() || stop;
            if save || report.step.is_multiple_of(LOG_EVERY) {
                self.log.append(&LogLine {
                    step: report.step,
                    train_seconds: report.train_seconds,
                    tokens: report.tokens,
                    train_nats_per_char: mem::take(&mut logged).value(),
                    learning_rate: learning_rate(self.config(), report.step),
                    evaluation,
                })?;
            }
            if save {
                self.learner.save(&self.folder.state_path())?;
            }
            if let Some((evaluation, engine)) = evaluated {
                observer.on_evaluation(&report, &evaluation, &engine);
            }
            if stop && !last {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Evaluates the model, and saves it if it is the best so far.
    fn evaluate(&mut self) -> Result<(Evaluation, Arc<Engine>), TrainError> {
        let (weights, engine, evaluation) = self.learner.evaluate()?;
        let nats = evaluation.nats_per_char;
        let best = self.learner.progress.best_nats_per_char;
        if best.is_none_or(|best| nats < best) {
            let vocabulary = self.vocabulary().fingerprint();
            ModelFolder::save(self.folder.path(), engine.config(), &weights, &vocabulary)?;
            self.learner.progress.best_nats_per_char = Some(nats);
        }
        Ok((evaluation, engine))
    }
}
