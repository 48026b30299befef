//! The progress of a training run, and its end on a request to stop.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use indicatif::ProgressBar;
use tang_engine::{CachedDecoder, Engine, Threads};
use tang_generate::{GenerateError, GenerationConfig, Generator, Task};
use tang_prosody::Form;
use tang_tokenizer::Vocabulary;
use tang_train::{Evaluation, Observer, StepReport, Trainer};

use crate::output::{note, poem_text, progress::style};

/// The beginning of the second sample poem.
const SAMPLE_PREFIX: &str = "春风";
/// The share of the newest loss in the smoothed one.
const SMOOTHING: f64 = 0.1;

/// Draws the bar, prints a line and two poems at each evaluation, and ends the run once `stop` is
/// set.
pub struct TrainingWatch {
    steps: usize,
    vocabulary: Vocabulary,
    stop: Arc<AtomicBool>,
    bar: ProgressBar,
    smoothed: Option<f64>,
}

impl TrainingWatch {
    /// Watches the run of `trainer` from here on.
    pub fn new(trainer: &Trainer, stop: Arc<AtomicBool>) -> Self {
        let steps = trainer.config().steps;
        Self {
            steps,
            vocabulary: trainer.vocabulary().clone(),
            stop,
            bar: training_bar(trainer.step(), steps),
            smoothed: None,
        }
    }

    /// A poem by the model as it is now.
    fn sample(&self, engine: &Arc<Engine>, task: Task) -> Result<String, GenerateError> {
        let config = GenerationConfig {
            seed: 0,
            // The longest form, with its end.
            max_new_tokens: Form::QiLv.char_count() + 1,
            ..GenerationConfig::default()
        };
        let mut decoder = CachedDecoder::new(engine, Threads::available());
        let sequence = Generator::new(&mut decoder, task, &config)?.finish()?;
        Ok(poem_text(&self.vocabulary, sequence.tokens())?)
    }
}

impl Observer for TrainingWatch {
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()> {
        let loss = report.nats_per_char;
        let smoothed = self.smoothed.unwrap_or(loss);
        let smoothed = smoothed + SMOOTHING * (loss - smoothed);
        self.smoothed = Some(smoothed);
        self.bar.set_position(report.step as u64);
        let speed = tokens_per_second(report);
        self.bar.set_message(format!("loss {smoothed:.3}  {speed:.0} tokens/s"));
        if self.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn on_evaluation(
        &mut self,
        report: &StepReport,
        evaluation: &Evaluation,
        engine: &Arc<Engine>,
    ) {
        let form = Task::form(Form::QiJue.into(), &self.vocabulary);
        let continuation = Task::continuation(SAMPLE_PREFIX, &self.vocabulary);
        self.bar.suspend(|| {
            note(format_args!(
                "step {}/{}  {:.4} nats per character  {:.4} Han only  loss {:.3}  {:.0} tokens/s",
                report.step,
                self.steps,
                evaluation.nats_per_char,
                evaluation.nats_per_han,
                self.smoothed.unwrap_or(report.nats_per_char),
                tokens_per_second(report)
            ));
            // A small vocabulary may lack a character of a poem, which is then left out.
            for (name, task) in [(Form::QiJue.name(), form), (SAMPLE_PREFIX, continuation)] {
                if let Ok(poem) = task.and_then(|task| self.sample(engine, task)) {
                    note(format_args!("  {name}  {poem}"));
                }
            }
        });
    }
}

impl Drop for TrainingWatch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The bar of a training run after `step` of `steps`.
fn training_bar(step: usize, steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64)
        .with_position(step as u64)
        .with_style(style("{bar:30} {pos}/{len}  {msg}  ETA {eta}"));
    bar.reset_eta();
    bar
}

fn tokens_per_second(report: &StepReport) -> f64 {
    report.tokens as f64 / report.train_seconds
}
