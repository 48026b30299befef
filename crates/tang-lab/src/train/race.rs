//! A race of two training runs: the first evaluation of ours that is as good as the end of the
//! peer.

use std::{fmt, ops::ControlFlow, path::PathBuf, sync::Arc};

use serde::Serialize;
use tang_corpus::Split;
use tang_engine::Engine;
use tang_train::{Evaluation, Observer, Preset, StepReport, TrainConfig, Trainer};

use crate::{
    BenchTrain, LabError, LossPoint, TrainPlan,
    page::chart::{BLUE, Line, Stroke, VERMILION, loss_chart},
};

/// The peer's whole run, about ten passes over the poems: steps, steps between evaluations, tokens per
/// step.
const PEER_RUN: [usize; 3] = [1850, 50, super::TOKENS_PER_STEP[1]];
/// Our steps between two evaluations: the precision of the result. The time of evaluations does not
/// count.
const EVALUATE_EVERY: usize = 50;

/// Our run against the whole run of a peer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Race {
    /// The end of the peer.
    goal: LossPoint,
    /// Our first point that is no worse, if there is one.
    reached: Option<LossPoint>,
    /// The peer's seconds over ours, both up to there.
    speed_up: Option<f64>,
    /// The end of ours.
    end: LossPoint,
    ours: Vec<LossPoint>,
    peer: Vec<LossPoint>,
}

impl TrainPlan {
    /// The folder of our run in a race.
    fn run_folder(&self) -> PathBuf {
        self.out.join("run")
    }

    /// The output of the peer's whole run.
    fn peer_log(&self) -> PathBuf {
        self.out.join("peer.jsonl")
    }

    /// Checks that nothing is in the way of the files of a race; `has_log` if the peer has run before.
    ///
    /// # Errors
    ///
    /// [`LabError::Exists`] with the file or folder.
    pub fn check_race(&self, has_log: bool) -> Result<(), LabError> {
        let log = (!has_log).then(|| self.peer_log());
        for path in [self.run_folder()].into_iter().chain(log) {
            if path.exists() {
                let advice = ": move it away, or use another folder; a whole log of the peer can be read again";
                return Err(LabError::Exists { path, advice });
            }
        }
        Ok(())
    }
}

impl BenchTrain {
    /// Runs the peer to its end, unless its losses are known already, and then ours until it is as good.
    /// `watch` makes an observer of our run, beside the one that ends it.
    ///
    /// # Errors
    ///
    /// [`LabError::Program`] if the peer fails or is missing, [`LabError::Train`] if training does.
    pub fn race(
        &mut self,
        plan: &TrainPlan,
        split: Split,
        known: Option<Vec<LossPoint>>,
        watch: &dyn Fn(&Trainer) -> Box<dyn Observer>,
        on_progress: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let peer = match (known, &plan.peer) {
            (Some(points), _) => points,
            (None, Some(peer)) => {
                let log = plan.peer_log();
                on_progress(&format!("the peer reports to {}", log.display()));
                peer.run(&plan.corpus, PEER_RUN, &log)?
            }
            (None, None) => Vec::new(),
        };
        let goal = last("the peer", &peer)?.val_nats_per_char;
        let folder = plan.run_folder();
        let config = TrainConfig { evaluate_every: EVALUATE_EVERY, ..Preset::Quick.config() };
        let mut trainer = plan.start(config, split, &folder)?;
        on_progress(&format!("training into {} until the loss is {goal:.4}", folder.display()));
        let mut watch =
            RaceWatch { watch: watch(&trainer), goal, is_reached: false, points: Vec::new() };
        trainer.run(&mut watch)?;
        self.race = Some(Race::new(watch.points, peer)?);
        Ok(())
    }
}

fn last(name: &str, points: &[LossPoint]) -> Result<LossPoint, LabError> {
    let missing = || LabError::Program(format!("{name} has no validation loss to compare"));
    points.last().copied().ok_or_else(missing)
}

/// Ends a run after the step that follows an evaluation no worse than the goal.
struct RaceWatch {
    watch: Box<dyn Observer>,
    goal: f64,
    is_reached: bool,
    points: Vec<LossPoint>,
}

impl Observer for RaceWatch {
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()> {
        let flow = self.watch.on_step(report);
        if self.is_reached { ControlFlow::Break(()) } else { flow }
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
        self.is_reached |= evaluation.nats_per_char <= self.goal;
    }
}

impl Race {
    /// Pairs two runs.
    fn new(ours: Vec<LossPoint>, peer: Vec<LossPoint>) -> Result<Self, LabError> {
        let (end, goal) = (last("our run", &ours)?, last("the peer", &peer)?);
        let is_reached = |point: &&LossPoint| point.val_nats_per_char <= goal.val_nats_per_char;
        let reached = ours.iter().find(is_reached).copied();
        let speed_up = reached.map(|point| goal.train_seconds / point.train_seconds);
        Ok(Self { goal, reached, speed_up, end, ours, peer })
    }

    /// Both curves as SVG.
    pub fn plot(&self) -> Result<String, LabError> {
        let line = |label: &str, color, points: &[LossPoint]| {
            let minutes = |point: &LossPoint| (point.train_seconds / 60.0, point.val_nats_per_char);
            Line {
                label: label.to_owned(),
                color,
                points: points.iter().map(minutes).collect(),
                stroke: Stroke::Dotted,
            }
        };
        let lines = [line("tang train", BLUE, &self.ours), line("peer", VERMILION, &self.peer)];
        let title = "Validation loss against training time";
        loss_chart(title, "minutes of training, evaluation apart", &lines)
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |point: LossPoint| {
            let (nats, step) = (point.val_nats_per_char, point.step);
            let minutes = point.train_seconds / 60.0;
            format!(
                "{nats:.4} nats per character after {minutes:.1} minutes of training, step {step}"
            )
        };
        write!(f, "The peer ends at {}. `tang train` ", at(self.goal))?;
        if let (Some(point), Some(speed_up)) = (self.reached, self.speed_up) {
            return write!(f, "is at {}: {speed_up:.2}x as fast.", at(point));
        }
        let above = self.end.val_nats_per_char - self.goal.val_nats_per_char;
        write!(f, "does not get there: it ends at {}, {above:.4} above.", at(self.end))
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn points(losses: &[f64]) -> Vec<LossPoint> {
        let point = |(i, loss): (usize, &f64)| LossPoint {
            step: i + 1,
            train_seconds: 60.0 * (i + 1) as f64,
            val_nats_per_char: *loss,
        };
        losses.iter().enumerate().map(point).collect()
    }

    #[test]
    fn says_when_the_goal_is_reached() {
        let race = Race::new(points(&[6.0, 5.0, 4.0]), points(&[7.0, 6.5, 6.0, 5.0])).unwrap();
        assert_eq!(race.reached.map(|point| point.step), Some(2));
        assert_eq!(race.speed_up, Some(2.0));
        let text = race.to_string();
        assert!(text.contains("ends at 5.0000 nats per character after 4.0 minutes"), "{text}");
        assert!(text.contains("after 2.0 minutes of training, step 2: 2.00x"), "{text}");
        let svg = race.plot().unwrap();
        assert_eq!(svg.matches("<circle").count(), 7);
    }

    #[test]
    fn says_how_far_the_goal_is() {
        let race = Race::new(points(&[6.0, 5.25]), points(&[5.0])).unwrap();
        assert_eq!((race.reached, race.speed_up), (None, None));
        let text = race.to_string();
        assert!(text.contains("does not get there: it ends at 5.2500"), "{text}");
        assert!(text.ends_with("step 2, 0.2500 above."), "{text}");
        assert!(Race::new(Vec::new(), points(&[5.0])).is_err());
    }
}
