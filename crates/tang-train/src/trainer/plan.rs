//! The plan of a run, with a trial in memory.

use std::{path::Path, time::Instant};

use burn::tensor::Device;
use tang_checkpoint::ModelConfig;
use tang_corpus::Split;

use super::run_folder::state_of_run;
use crate::{TrainConfig, TrainError, learner::Learner};

/// Steps that a trial does before those that it times.
const WARM_UP_STEPS: usize = 2;
/// Steps that a trial times.
const TIMED_STEPS: usize = 6;

/// A run that has not begun, or the rest of one that stopped. Nothing is written for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Configuration of the run.
    pub config: TrainConfig,
    /// The geometry, with the vocabulary of the corpus.
    pub model: ModelConfig,
    /// SHA-256 of the poems.
    pub corpus: String,
    /// Count of poems to train on.
    pub poems: usize,
    /// Count of their characters, with a newline after each poem.
    pub characters: usize,
    /// Count of Song poems to learn from first.
    pub song_poems: usize,
    /// Count of poems to evaluate on.
    pub validation_poems: usize,
    /// Steps in one pass over the training poems, without Song poems.
    pub steps_per_epoch: usize,
    /// Steps done already.
    pub steps_done: usize,
    /// Characters trained on already.
    pub tokens_done: u64,
    /// Characters that the steps left will train on.
    pub tokens_left: u64,
    /// Whether these are counted, and not estimated from those of the next epochs.
    pub is_counted: bool,
    /// Speed of a few steps.
    pub trial: Trial,
}

/// Speed of a few steps of a run on this machine, and of an evaluation after them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Steps that were timed.
    pub steps: usize,
    /// Characters per second of these.
    pub tokens_per_second: f64,
    /// Seconds of the evaluation.
    pub evaluation_seconds: f64,
}

impl Plan {
    /// The plan of the run that [`Trainer::start`](crate::Trainer::start) begins.
    ///
    /// # Errors
    ///
    /// If the configuration is impossible, the corpus does not fit the model, or the trial
    /// diverges.
    pub fn of_start(
        config: TrainConfig,
        model: ModelConfig,
        split: Split,
        device: &Device,
    ) -> Result<Self, TrainError> {
        Self::new(&split, Learner::start(config, model, &split, device)?)
    }

    /// The plan of the rest of the run in the folder `run`, which may be running.
    ///
    /// # Errors
    ///
    /// [`TrainError::NoRun`] if there is none; as for
    /// [`Trainer::resume`](crate::Trainer::resume), or if the trial diverges.
    pub fn of_rest(run: &Path, split: Split, device: &Device) -> Result<Self, TrainError> {
        Self::new(&split, Learner::resume(&state_of_run(run)?, &split, device)?)
    }

    fn new(split: &Split, mut learner: Learner) -> Result<Self, TrainError> {
        let progress = learner.progress.clone();
        Ok(Self {
            config: progress.train,
            model: progress.model,
            corpus: progress.corpus,
            poems: split.train.len(),
            characters: split.train_characters(),
            song_poems: if progress.train.song_steps > 0 { split.song.len() } else { 0 },
            validation_poems: split.validation.len(),
            steps_per_epoch: learner.steps_per_epoch(),
            steps_done: progress.step,
            tokens_done: progress.tokens,
            tokens_left: learner.tokens_left(),
            is_counted: learner.counts_tokens_left(),
            trial: Trial::run(learner)?,
        })
    }

    /// Steps left.
    pub fn steps_left(&self) -> usize {
        self.config.steps - self.steps_done
    }

    /// Steps left that learn from Song poems, too.
    pub fn song_steps_left(&self) -> usize {
        self.config.song_steps.saturating_sub(self.steps_done)
    }

    /// Evaluations left: those between steps, and one after the last step.
    pub fn evaluations_left(&self) -> usize {
        if self.steps_left() == 0 {
            return 0;
        }
        let every = self.config.evaluate_every;
        self.config.steps.div_ceil(every) - self.steps_done / every
    }

    /// Seconds that the steps left will take, at the speed of the trial.
    pub fn train_seconds(&self) -> f64 {
        self.tokens_left as f64 / self.trial.tokens_per_second
    }

    /// Seconds that the evaluations left will take.
    pub fn evaluation_seconds(&self) -> f64 {
        self.evaluations_left() as f64 * self.trial.evaluation_seconds
    }
}

impl Trial {
    /// Does the next steps, even if the run has fewer left, and evaluates.
    fn run(mut learner: Learner) -> Result<Self, TrainError> {
        let mut steps = |count| (1..count).try_fold(learner.step()?, |_, _| learner.step());
        let (before, after) = (steps(WARM_UP_STEPS)?, steps(TIMED_STEPS)?);
        let started = Instant::now();
        learner.evaluate()?;
        Ok(Self {
            steps: TIMED_STEPS,
            tokens_per_second: (after.tokens - before.tokens) as f64
                / (after.train_seconds - before.train_seconds),
            evaluation_seconds: started.elapsed().as_secs_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use tang_model::device;

    use super::*;
    use crate::Preset;

    fn plan(steps: usize, evaluate_every: usize) -> Plan {
        let config =
            TrainConfig { steps, batch_tokens: 48, evaluate_every, ..Preset::Quick.config() };
        let model = ModelConfig {
            width: 16,
            feed_forward_width: 32,
            layers: 1,
            context: 24,
            ..ModelConfig::tang_4l(0)
        };
        let poem = |text: &str| text.to_owned();
        let split = Split {
            train: vec![poem("春眠不觉晓"), poem("处处闻啼鸟"), poem("夜来风雨声")],
            validation: vec![poem("花落知多少")],
            ..Split::default()
        };
        Plan::of_start(config, model, split, &device::cpu()).unwrap()
    }

    #[test]
    fn counts_what_the_steps_will_see() {
        let plan = plan(5, 2);
        assert_eq!((plan.poems, plan.validation_poems), (3, 1));
        assert_eq!(plan.characters, 18);
        // Two marks and the newline are always known.
        assert_eq!(plan.model.vocab_size, 19 + 3);
        // Three poems of six positions fit one batch.
        assert_eq!((plan.steps_per_epoch, plan.tokens_left), (1, 5 * 18));
        assert_eq!((plan.steps_left(), plan.tokens_done), (5, 0));
        assert!(plan.train_seconds() > 0.0 && plan.evaluation_seconds() > 0.0);
    }

    #[test]
    fn the_last_step_is_evaluated_once() {
        let evaluations = |steps_done, steps, every| {
            let plan = Plan { steps_done, ..plan(steps, every) };
            plan.evaluations_left()
        };
        assert_eq!(evaluations(0, 5, 2), 3);
        assert_eq!(evaluations(0, 4, 2), 2);
        assert_eq!(evaluations(2, 5, 2), 2);
        assert_eq!(evaluations(4, 5, 2), 1);
        assert_eq!(evaluations(5, 5, 2), 0);
    }
}
