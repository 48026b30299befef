//! `tang bench-train`: measure the speed of training, beside a peer.

use std::{
    fs,
    io::{self, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use tang_corpus::{CorpusFolder, Split};
use tang_files::write_atomically;
use tang_lab::{BenchTrain, LossPoint, Provenance, Race, Throughput};
use tang_model::{ModelPreset, Transformer, device};
use tang_train::{
    Evaluation, Observer, Preset, RunFolder, RunLog, StepReport, TrainConfig, Trainer,
};

use crate::{
    corpus_build::CORPUS_FOLDER,
    note::note,
    peer::{Peer, loss_points},
    source_commit::source_commit,
    training_watch::TrainingWatch,
};

/// The peer that this project brings, where its environment is made.
const PEER: [&str; 2] = [".venv-hf/bin/python", "scripts/torch_peer.py"];
/// Tokens a step: our default and the peer's.
const TOKENS_A_STEP: [usize; 2] = [4096, 8192];
/// The peer's whole run: about as many tokens as our default preset sees.
const PEER_STEPS: usize = 1850;
const PEER_EVERY: usize = 50;
/// Steps between our evaluations in a whole run, so that the curve has points enough.
const OUR_EVERY: usize = 100;

/// What to measure.
#[derive(Args)]
#[command(after_help = "Example:\n  tang bench-train --steps 20")]
pub struct Options {
    /// A program to race with [default: scripts/torch_peer.py, if .venv-hf has a Python]
    #[arg(long, value_name = "COMMAND")]
    peer: Option<String>,
    /// Turns, each a short run of either
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(3..))]
    turns: u8,
    /// Steps of a short run
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..))]
    steps: u16,
    /// Run the default preset, and the peer to its end, too: about two hours
    #[arg(long)]
    full: bool,
    /// What an earlier whole run of the peer printed, instead of another run
    #[arg(long, value_name = "FILE", requires = "full")]
    peer_log: Option<PathBuf>,
    /// The corpus folder
    #[arg(long, value_name = "DIR", default_value = CORPUS_FOLDER)]
    corpus: PathBuf,
    /// Folder for report.json and the picture
    #[arg(long, value_name = "DIR", default_value = "target/bench-train")]
    out: PathBuf,
}

/// Measures, writes, and prints the table, and then all as one line of JSON.
pub fn run(options: &Options) -> Result<()> {
    let peer = options.peer()?;
    // What can be wrong comes before the work.
    let split = CorpusFolder::new(&options.corpus).open()?;
    let peer_log = match &options.peer_log {
        Some(path) => {
            let log = fs::read_to_string(path);
            let log = log.with_context(|| format!("cannot read {}", path.display()))?;
            Some(loss_points(&log)?)
        }
        None => None,
    };
    ensure!(
        !options.full || peer.is_some() || peer_log.is_some(),
        "--full needs a peer: give --peer or --peer-log"
    );
    let out = &options.out;
    let run = out.join("run");
    ensure!(
        !(options.full && run.exists()),
        "{} holds a run already: give another --out, or move it away",
        run.display()
    );
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let bench = BenchTrain {
        provenance: Provenance::this(source_commit()),
        throughput: options.throughput(&split, peer.as_ref())?,
        race: match options.full {
            true => Some(options.race(split, peer.as_ref(), peer_log)?),
            false => None,
        },
    };
    let json = serde_json::to_string(&bench)?;
    let written = write_report(out, &bench);
    // Printed even where it cannot be kept.
    writeln!(io::stdout().lock(), "{bench}\n\n{json}")?;
    written
}

impl Options {
    fn peer(&self) -> Result<Option<Peer>> {
        if let Some(line) = &self.peer {
            return Peer::new(line).map(Some);
        }
        if PEER.iter().all(|path| Path::new(path).exists()) {
            return Peer::new(&PEER.join(" ")).map(Some);
        }
        note(format_args!(
            "SKIPPED the peer: there is no {} here; give one with --peer",
            PEER.join(" or no ")
        ));
        Ok(None)
    }

    /// Short runs in turns, so that whatever else the machine does meets both.
    fn throughput(&self, split: &Split, peer: Option<&Peer>) -> Result<Vec<Throughput>> {
        let mut rows = TOKENS_A_STEP.map(|tokens_a_step| Throughput {
            tokens_a_step,
            ours: Vec::new(),
            peer: Vec::new(),
        });
        let steps = usize::from(self.steps);
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
        }
        Ok(rows.into())
    }

    /// Tokens a second of a run that ends before its first evaluation.
    fn short_run(&self, split: Split, batch_tokens: usize) -> Result<f64> {
        let folder = self.out.join("short-run");
        // The one before is of no use to anybody.
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let config = TrainConfig {
            batch_tokens,
            evaluate_every: usize::MAX,
            ..Preset::Default.config()
        };
        let mut trainer = start(config, split, &folder)?;
        let mut watch = StopAfter {
            steps: self.steps.into(),
            tokens_per_second: 0.0,
        };
        trainer.run(&mut watch)?;
        fs::remove_dir_all(&folder)?;
        Ok(watch.tokens_per_second)
    }

    fn race(
        &self,
        split: Split,
        peer: Option<&Peer>,
        peer_log: Option<Vec<LossPoint>>,
    ) -> Result<Race> {
        let folder = self.out.join("run");
        let config = TrainConfig {
            evaluate_every: OUR_EVERY,
            ..Preset::Default.config()
        };
        let mut trainer = start(config, split, &folder)?;
        note(format_args!("training into {}", folder.display()));
        let mut watch = TrainingWatch::new(&trainer, Arc::new(AtomicBool::new(false)));
        trainer.run(&mut watch)?;
        drop(watch);
        let log = RunLog::read(&RunFolder::resume(&folder)?.log_path())?;
        let ours = log.into_iter().filter_map(|line| {
            Some(LossPoint {
                step: line.step,
                train_seconds: line.train_seconds,
                val_nats_per_char: line.evaluation?.nats_per_char,
            })
        });
        let peer = match (peer_log, peer) {
            (Some(points), _) => points,
            (None, Some(peer)) => {
                note("now the peer; its reports come at its end");
                let rows = TOKENS_A_STEP[1] / Peer::ROW;
                loss_points(&peer.run(&self.corpus, PEER_STEPS, PEER_EVERY, rows)?)?
            }
            (None, None) => Vec::new(),
        };
        Ok(Race::new(ours.collect(), peer)?)
    }
}

fn start(config: TrainConfig, split: Split, folder: &Path) -> Result<Trainer> {
    let folder = RunFolder::start(folder)?;
    let geometry = ModelPreset::Tang4l.config(1);
    Ok(Trainer::start(
        config,
        geometry,
        split,
        folder,
        &device::cpu(),
    )?)
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

    fn on_evaluation(&mut self, _: &StepReport, _: &Evaluation, _: &Transformer) {}
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
