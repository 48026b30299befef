//! Our side of a race: a run that ends as soon as it is as good as its peer.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Result;
use tang_engine::Engine;
use tang_lab::LossPoint;
use tang_train::{Evaluation, Observer, Preset, StepReport, TrainConfig, Trainer};

use crate::training_watch::TrainingWatch;

/// Steps between two evaluations, which decide how closely the end is seen; their time does not
/// count.
const EVALUATE_EVERY: usize = 50;

/// What a run in a race is told.
pub fn race_config() -> TrainConfig {
    TrainConfig {
        evaluate_every: EVALUATE_EVERY,
        ..Preset::Quick.config()
    }
}

/// Runs until an evaluation is no worse than `goal` nats a character, or to the end; the validation
/// losses on the way.
pub fn run_race(trainer: &mut Trainer, goal: f64) -> Result<Vec<LossPoint>> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut watch = RaceWatch {
        watch: TrainingWatch::new(trainer, Arc::clone(&stop)),
        stop,
        goal,
        points: Vec::new(),
    };
    trainer.run(&mut watch)?;
    Ok(watch.points)
}

/// Watches a run as the user does, and ends it after the step that follows a good evaluation.
struct RaceWatch {
    watch: TrainingWatch,
    stop: Arc<AtomicBool>,
    goal: f64,
    points: Vec<LossPoint>,
}

impl Observer for RaceWatch {
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()> {
        self.watch.on_step(report)
    }

    fn on_evaluation(
        &mut self,
        report: &StepReport,
        evaluation: &Evaluation,
        engine: &Arc<Engine>,
    ) {
        self.watch.on_evaluation(report, evaluation, engine);
        self.points.push(LossPoint {
            step: report.step,
            train_seconds: report.train_seconds,
            val_nats_per_char: evaluation.nats_per_char,
        });
        if evaluation.nats_per_char <= self.goal {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
