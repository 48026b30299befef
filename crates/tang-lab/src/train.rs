//! The speed of training, compared with that of another program (the peer) and with that of the
//! machine.

mod peer;
mod race;
mod utilization;

use std::{
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;
use tang_checkpoint::ModelPreset;
use tang_corpus::Split;
use tang_engine::Engine;
use tang_model::device;
use tang_train::{Evaluation, Observer, Preset, StepReport, TrainConfig, Trainer};

use crate::{
    LabError, Provenance, Report,
    page::{count, table},
    stats::median,
};
pub use peer::{LossPoint, Peer, loss_points};
use race::Race;
use utilization::{MatmulPeak, Utilization};

/// Tokens per step: the default of `tang train` and that of the peer.
const TOKENS_PER_STEP: [usize; 2] = [4096, 8192];
/// Times that each product is timed in a turn.
const PEAK_RUNS: usize = 5;

/// A measurement of training.
pub struct TrainPlan {
    /// The network to train.
    pub model: ModelPreset,
    /// Turns, each a short run of either program; at least one.
    pub turns: usize,
    /// Steps of a short run.
    pub steps: usize,
    /// The corpus folder, in which a peer finds the poems.
    pub corpus: PathBuf,
    /// The output folder.
    pub out: PathBuf,
    /// The program to compare with.
    pub peer: Option<Peer>,
}

/// The measurements. They display themselves as a Markdown page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchTrain {
    provenance: Provenance,
    model: &'static str,
    /// Speeds of short runs, one entry per number of tokens per step.
    throughput: Vec<Throughput>,
    /// The part of the machine's speed that the first of them uses.
    utilization: Utilization,
    /// A race with the peer, where one was asked for.
    race: Option<Race>,
}

/// Tokens per second of short runs, ours and the peer's in turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Throughput {
    /// Tokens of one optimiser step, at the most.
    tokens_a_step: usize,
    /// Ours, turn by turn.
    ours: Vec<f64>,
    /// The peer's, turn by turn; empty without one.
    peer: Vec<f64>,
}

impl Throughput {
    /// The median of ours over that of the peer, where there is one.
    fn ratio(&self) -> Option<f64> {
        Some(median(&self.ours)? / median(&self.peer)?)
    }
}

/// Measures short runs in turns, so that other work of the machine affects all of them, and the
/// speed of matrix products.
///
/// # Errors
///
/// [`LabError::Train`] if training fails, [`LabError::Program`] if the peer does, [`LabError::File`] if there can be
/// no folder in the output folder.
pub fn bench_train(
    plan: &TrainPlan,
    split: &Split,
    provenance: Provenance,
    on_progress: &mut dyn FnMut(&str),
) -> Result<BenchTrain, LabError> {
    let mut rows = TOKENS_PER_STEP.map(|tokens_a_step| Throughput {
        tokens_a_step,
        ours: Vec::new(),
        peer: Vec::new(),
    });
    let geometry = plan.model.config(split.vocabulary().len());
    let mut peak = MatmulPeak::measure(&geometry, PEAK_RUNS)?;
    for turn in 1..=plan.turns {
        for row in &mut rows {
            let tokens = row.tokens_a_step;
            let ours = plan.short_run(split.clone(), tokens)?;
            row.ours.push(ours);
            let mut line = format!("turn {turn}: {tokens} tokens per step: {ours:.0}");
            if let Some(peer) = &plan.peer {
                let speed = peer.tokens_per_second(&plan.corpus, plan.steps, tokens)?;
                row.peer.push(speed);
                line += &format!(", peer {speed:.0}");
            }
            on_progress(&format!("{line} tokens/s"));
        }
        peak.raise(&MatmulPeak::measure(&geometry, PEAK_RUNS)?);
    }
    // A poem and its newline. Rows of joined poems are longer, which adds a little.
    let length = split.train_characters() / split.train.len();
    let ours = median(&rows[0].ours).expect("there is a turn");
    Ok(BenchTrain {
        provenance,
        model: plan.model.name(),
        throughput: rows.into(),
        utilization: Utilization::new(&geometry, length, ours, peak),
        race: None,
    })
}

impl TrainPlan {
    /// Tokens per second of a run that ends before its first evaluation.
    fn short_run(&self, split: Split, batch_tokens: usize) -> Result<f64, LabError> {
        let folder = tempfile::Builder::new().prefix("short-run-").tempdir_in(&self.out);
        let folder = folder.map_err(LabError::file("create a folder in", &self.out))?;
        let config = TrainConfig {
            batch_tokens,
            steps: self.steps + 1,
            evaluate_every: usize::MAX,
            // Without dropout, which the peer does not have either.
            ..Preset::Quick.config()
        };
        let mut watch = StopAfter { steps: self.steps, tokens_per_second: 0.0 };
        self.start(config, split, folder.path())?.run(&mut watch)?;
        Ok(watch.tokens_per_second)
    }

    fn start(&self, config: TrainConfig, split: Split, folder: &Path) -> Result<Trainer, LabError> {
        // The trainer takes the size of the vocabulary from the corpus.
        Ok(Trainer::start(config, self.model.config(1), split, folder, &device::cpu())?)
    }
}

/// Stops a run, and keeps its speed.
struct StopAfter {
    steps: usize,
    tokens_per_second: f64,
}

impl Observer for StopAfter {
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()> {
        self.tokens_per_second = report.tokens as f64 / report.train_seconds;
        if report.step < self.steps { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn on_evaluation(&mut self, _: &StepReport, _: &Evaluation, _: &Arc<Engine>) {}
}

impl Report for BenchTrain {
    fn plots(&self) -> Result<Vec<(String, String)>, LabError> {
        let plot = |race: &Race| Ok(("loss.svg".to_owned(), race.plot()?));
        self.race.iter().map(plot).collect()
    }
}

impl fmt::Display for BenchTrain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (model, provenance, utilization) = (self.model, &self.provenance, &self.utilization);
        let rows = self.throughput.iter().map(|row| {
            let speed = |values: &[f64]| match median(values) {
                Some(median) => count(median.round() as usize).to_string(),
                None => "-".to_owned(),
            };
            let [ours, peer] = [&row.ours, &row.peer].map(|values| speed(values));
            let ratio = row.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}x"));
            let (tokens, turns) = (count(row.tokens_a_step), row.ours.len());
            format!("{tokens} | {turns} | {ours} | {peer} | {ratio}")
        });
        let header = "tokens per step | turns | tang, tokens/s | peer, tokens/s | ratio";
        write!(
            f,
            "# Training speed: {model}\n\n{provenance}\n\n{}\n\nAt {} tokens per step: {utilization}",
            table(header, rows),
            count(TOKENS_PER_STEP[0])
        )?;
        match &self.race {
            Some(race) => write!(f, "\n\n{race}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn compares_medians() {
        let mut row =
            Throughput { tokens_a_step: 8192, ours: vec![30.0, 10.0, 20.0], peer: vec![5.0, 15.0] };
        assert_eq!(row.ratio(), Some(2.0));
        row.peer.clear();
        assert_eq!(row.ratio(), None);
    }
}
