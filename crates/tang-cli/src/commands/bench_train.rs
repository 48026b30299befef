//! `tang bench-train`: measure the speed of training, beside a peer.

use std::{
    fs,
    io::{self, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use tang_checkpoint::ModelPreset;
use tang_corpus::{CorpusFolder, Split};
use tang_engine::Engine;
use tang_files::write_atomically;
use tang_lab::{BenchTrain, LossPoint, MatmulPeak, Provenance, Race, Throughput, Utilization};
use tang_model::device;
use tang_train::{Evaluation, Observer, Preset, StepReport, TrainConfig, Trainer};

use crate::{
    corpus_build::CORPUS_FOLDER,
    json_output::write_json,
    note::note,
    number::whole,
    older_report::check_measurement,
    peer::{Peer, loss_points},
    source_commit::source_commit,
    threads::start_threads,
    training_environment::prepare_environment,
    training_race::{race_config, run_race},
};

/// Tokens a step: our default and the peer's.
const TOKENS_A_STEP: [usize; 2] = [4096, 8192];
/// The peer's whole run: about ten passes over the poems.
const PEER_STEPS: usize = 1850;
const PEER_EVERY: usize = 50;
/// What a whole run of the peer printed, in the output folder.
const PEER_LOG: &str = "peer.jsonl";
/// The folder of our run in a race, in the output folder.
const RUN: &str = "run";
/// Times that each product is timed in a turn.
const PEAK_RUNS: usize = 5;

/// What to measure.
#[derive(Args)]
#[command(after_help = "Example:\n  tang bench-train --steps 20")]
pub struct Options {
    /// A program to race with, such as `python3 scripts/torch_peer.py`
    #[arg(long, value_name = "COMMAND")]
    peer: Option<String>,
    /// Which network to train: tang-4l, which has the geometry of the peer, or minimind-4l
    #[arg(long, default_value_t)]
    model: ModelPreset,
    /// Turns, each a short run of either
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole(3..=u8::MAX))]
    turns: u8,
    /// Steps of a short run
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = whole(1..=u16::MAX))]
    steps: u16,
    /// Run the peer to its end, too, and then ours until it is as good: about half an hour
    #[arg(long)]
    full: bool,
    /// What an earlier whole run of the peer printed (peer.jsonl), instead of another run
    #[arg(long, value_name = "FILE", requires = "full")]
    peer_log: Option<PathBuf>,
    /// The corpus folder
    #[arg(long, value_name = "DIR", default_value = CORPUS_FOLDER)]
    corpus: PathBuf,
    /// Folder for report.json, and with --full for the peer's log, our run and the picture
    #[arg(long, value_name = "DIR", default_value = "target/bench-train")]
    out: PathBuf,
}

/// Measures, writes, and prints the table, and then all as one line of JSON.
pub fn run(options: &Options) -> Result<()> {
    prepare_environment();
    start_threads()?;
    let peer = options.peer()?;
    // What can be wrong comes before the work.
    let split = CorpusFolder::new(&options.corpus).open()?;
    let peer_log = options.peer_log.as_deref().map(loss_points).transpose()?;
    ensure!(
        !options.full || peer.is_some() || peer_log.is_some(),
        "--full needs a peer: give --peer or --peer-log"
    );
    let out = &options.out;
    if options.full {
        is_free(&out.join(RUN))?;
        if peer_log.is_none() {
            is_free(&out.join(PEER_LOG))?;
        }
    }
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    check_measurement(out)?;
    let (throughput, utilization) = options.speed(&split, peer.as_ref())?;
    let race = options
        .full
        .then(|| options.race(split, peer.as_ref(), peer_log))
        .transpose();
    // What was measured is kept and printed, whatever fails after it.
    let (race, raced) = match race {
        Ok(race) => (race, Ok(())),
        Err(error) => (None, Err(error)),
    };
    let bench = BenchTrain {
        provenance: Provenance::this(device::name(&device::cpu()), source_commit()),
        model: options.model.name(),
        throughput,
        utilization,
        race,
    };
    let written = write_report(out, &bench);
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{bench}\n")?;
    write_json(&mut stdout, &bench)?;
    raced.and(written)
}

/// Checks that nothing is in the way of what a race writes.
fn is_free(path: &Path) -> Result<()> {
    ensure!(
        !path.exists(),
        "{} is there already: give another --out, or move it away; a whole log of the peer can be used again with --peer-log",
        path.display()
    );
    Ok(())
}

impl Options {
    fn peer(&self) -> Result<Option<Peer>> {
        // Nothing is run that nobody asked for: the folder may be another's.
        let Some(line) = &self.peer else {
            note("SKIPPED the peer: give one with --peer");
            return Ok(None);
        };
        Peer::new(line).map(Some)
    }

    /// Short runs in turns, so that whatever else the machine does meets all of them, and the speed
    /// of products.
    fn speed(&self, split: &Split, peer: Option<&Peer>) -> Result<(Vec<Throughput>, Utilization)> {
        let mut rows = TOKENS_A_STEP.map(|tokens_a_step| Throughput {
            tokens_a_step,
            ours: Vec::new(),
            peer: Vec::new(),
        });
        let steps = usize::from(self.steps);
        let geometry = self.model.config(split.vocabulary().len());
        let mut peak = MatmulPeak::measure(&geometry, PEAK_RUNS)?;
        for turn in 1..=self.turns {
            for row in &mut rows {
                let ours = self.short_run(split.clone(), row.tokens_a_step)?;
                row.ours.push(ours);
                let mut line = format!(
                    "turn {turn}: {} tokens a step: {ours:.0}",
                    row.tokens_a_step
                );
                if let Some(peer) = peer {
                    let rows = row.tokens_a_step / Peer::ROW;
                    let speed = peer.tokens_per_second(&self.corpus, steps, rows)?;
                    row.peer.push(speed);
                    line += &format!(", peer {speed:.0}");
                }
                note(format_args!("{line} tokens/s"));
            }
            peak.raise(&MatmulPeak::measure(&geometry, PEAK_RUNS)?);
        }
        // A poem and its newline. Rows of joined poems are longer, which adds a little.
        let length = split.train_characters() / split.train.len();
        let ours = rows[0].tokens_per_second();
        let ours = ours.expect("there are three turns or more");
        let utilization = Utilization::new(&geometry, length, ours, peak);
        Ok((rows.into(), utilization))
    }

    /// Tokens a second of a run that ends before its first evaluation.
    fn short_run(&self, split: Split, batch_tokens: usize) -> Result<f64> {
        let folder = tempfile::Builder::new()
            .prefix("short-run-")
            .tempdir_in(&self.out)
            .with_context(|| format!("cannot create a folder in {}", self.out.display()))?;
        let steps = usize::from(self.steps);
        let config = TrainConfig {
            batch_tokens,
            steps: steps + 1,
            evaluate_every: usize::MAX,
            // Without dropout, which the peer does not have either.
            ..Preset::Quick.config()
        };
        let mut trainer = self.start(config, split, folder.path())?;
        let mut watch = StopAfter {
            steps,
            tokens_per_second: 0.0,
        };
        trainer.run(&mut watch)?;
        Ok(watch.tokens_per_second)
    }

    fn race(
        &self,
        split: Split,
        peer: Option<&Peer>,
        peer_log: Option<Vec<LossPoint>>,
    ) -> Result<Race> {
        let peer = match (peer_log, peer) {
            (Some(points), _) => points,
            (None, Some(peer)) => {
                let log = self.out.join(PEER_LOG);
                note(format_args!("the peer reports to {}", log.display()));
                let rows = TOKENS_A_STEP[1] / Peer::ROW;
                peer.run(&self.corpus, PEER_STEPS, PEER_EVERY, rows, &log)?
            }
            (None, None) => Vec::new(),
        };
        let goal = peer.last().context("the peer has no validation loss")?;
        let goal = goal.val_nats_per_char;
        let folder = self.out.join(RUN);
        let mut trainer = self.start(race_config(), split, &folder)?;
        note(format_args!(
            "training into {} until the loss is {goal:.4}",
            folder.display()
        ));
        let ours = run_race(&mut trainer, goal)?;
        Ok(Race::new(ours, peer)?)
    }

    fn start(&self, config: TrainConfig, split: Split, folder: &Path) -> Result<Trainer> {
        let geometry = self.model.config(1);
        let device = device::cpu();
        Ok(Trainer::start(config, geometry, split, folder, &device)?)
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
        match report.step < self.steps {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn on_evaluation(&mut self, _: &StepReport, _: &Evaluation, _: &Arc<Engine>) {}
}

fn write_report(out: &Path, bench: &BenchTrain) -> Result<()> {
    let mut files = vec![("report.json", serde_json::to_string_pretty(bench)?)];
    if let Some(race) = &bench.race {
        files.push(("loss.svg", race.plot()?));
    }
    for (name, contents) in files {
        let path = out.join(name);
        write_atomically(&path, contents.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    note(format_args!(
        "written to {}",
        out.join("report.json").display()
    ));
    Ok(())
}
