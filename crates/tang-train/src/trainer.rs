//! The training loop.

use std::{ops::ControlFlow, path::Path, sync::Arc};

use burn::tensor::Device;
use tang_checkpoint::{ModelConfig, ModelFolder, Weights};
use tang_corpus::Split;
use tang_engine::Engine;
use tang_tokenizer::Vocabulary;

use crate::{
    Evaluation, LogLine, RunFolder, RunLog, TrainConfig, TrainError, learner::Learner, mean::Mean,
    schedule::learning_rate,
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

    /// After each evaluation, once all is saved, with the engine of the model as it is then.
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
    /// the vocabulary, which is that of the corpus. A run that is impossible leaves nothing behind.
    ///
    /// # Errors
    ///
    /// If the configuration is impossible or the corpus does not fit the model;
    /// [`TrainError::RunExists`] if the folder holds a run, [`TrainError::NotEmpty`] if it holds
    /// anything else, [`TrainError::Locked`] if another process trains into it; if a file cannot be
    /// written.
    pub fn start(
        config: TrainConfig,
        model: ModelConfig,
        split: Split,
        folder: &Path,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let learner = Learner::start(config, model, split, device)?;
        let folder = RunFolder::start(folder)?;
        // First, so that there is something to resume whenever the run is killed.
        learner.state().write(&folder.state_path())?;
        Self::new(learner, folder)
    }

    /// Goes on with the run that a folder holds, as if it had never stopped.
    ///
    /// # Errors
    ///
    /// If the state is damaged or belongs to another corpus.
    pub fn resume(split: Split, folder: RunFolder, device: &Device) -> Result<Self, TrainError> {
        let learner = Learner::resume(&folder.state_path(), split, device)?;
        Self::new(learner, folder)
    }

    fn new(learner: Learner, folder: RunFolder) -> Result<Self, TrainError> {
        // First, since it may be damaged, and then nothing is written.
        let log = RunLog::open(&folder.log_path(), learner.progress.step)?;
        learner.vocabulary().save(folder.path())?;
        Ok(Self {
            learner,
            folder,
            log,
        })
    }

    /// Where it writes.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// What the run was told.
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
        self.learner.vocabulary()
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
            let evaluated = if due || last {
                let (weights, engine, evaluation) = self.learner.evaluate()?;
                self.keep_if_best(&weights, &engine, &evaluation)?;
                Some((evaluation, engine))
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
                    learning_rate: learning_rate(self.config(), report.step),
                    evaluation,
                })?;
            }
            if evaluation.is_some() || stop {
                self.save()?;
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

    fn keep_if_best(
        &mut self,
        weights: &Weights,
        engine: &Engine,
        evaluation: &Evaluation,
    ) -> Result<(), TrainError> {
        let nats = evaluation.nats_per_char;
        let best = self.learner.progress.best_nats_per_char;
        if best.is_none_or(|best| nats < best) {
            let vocabulary = self.learner.vocabulary().fingerprint();
            ModelFolder::save(self.folder.path(), engine.config(), weights, &vocabulary)?;
            self.learner.progress.best_nats_per_char = Some(nats);
        }
        Ok(())
    }

    fn save(&self) -> Result<(), TrainError> {
        self.learner.state().write(&self.folder.state_path())
    }
}
