//! `tang bench-train`: measure the speed of training, compared with another program (the peer).

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, Result, ensure};
use clap::Args;
use tang_checkpoint::ModelPreset;
use tang_corpus::CorpusFolder;
use tang_lab::{Peer, Provenance, ReportFolder, TrainPlan, bench_train, loss_points};
use tang_model::device;

use super::{environment::prepare_environment, watch::TrainingWatch};
use crate::{
    args::whole,
    input::CORPUS_FOLDER,
    output::{note, publish},
    system::{source_commit, start_threads},
};

/// Steps to time, and the peer beside them.
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
    /// Output of an earlier whole run of the peer (peer.jsonl), instead of another run
    #[arg(long, value_name = "FILE", requires = "full")]
    peer_log: Option<PathBuf>,
    /// The corpus folder
    #[arg(long, value_name = "DIR", default_value = CORPUS_FOLDER)]
    corpus: PathBuf,
    /// Folder for report.md and report.json, and with --full for the peer's log, our run and the picture
    #[arg(long, value_name = "DIR", default_value = "target/bench-train")]
    out: PathBuf,
}

/// Writes the report and prints it, as Markdown and then as one line of JSON.
pub fn run(options: &Options) -> Result<()> {
    prepare_environment();
    start_threads()?;
    let plan = options.plan()?;
    // Inputs are checked before the work.
    let split = CorpusFolder::new(&options.corpus).open()?;
    let peer_log = options.peer_log.as_deref().map(loss_points).transpose()?;
    ensure!(
        !options.full || plan.peer.is_some() || peer_log.is_some(),
        "--full needs a peer: give --peer or --peer-log"
    );
    if options.full {
        plan.check_race(peer_log.is_some())?;
    }
    let folder = ReportFolder::create(&options.out)?;
    let provenance = Provenance::this(device::name(&device::cpu()), source_commit());
    let mut bench = bench_train(&plan, &split, provenance, &mut |text| note(text))?;
    let raced = if options.full {
        let watch = |trainer: &_| Box::new(TrainingWatch::new(trainer, Arc::default())) as _;
        bench.race(&plan, split, peer_log, &watch, &mut |text| note(text))
    } else {
        Ok(())
    };
    // Measured figures are kept and printed, even if the race fails.
    let published = publish(&folder, &bench);
    raced?;
    published
}

impl Options {
    fn plan(&self) -> Result<TrainPlan> {
        // The peer runs only if a flag names it: the folder may belong to somebody else.
        let peer = match &self.peer {
            Some(line) => Some(Peer::new(line).context(
                "--peer is empty: give a command, such as \"python3 scripts/torch_peer.py\"",
            )?),
            None => {
                note("SKIPPED the peer: give one with --peer");
                None
            }
        };
        Ok(TrainPlan {
            model: self.model,
            turns: self.turns.into(),
            steps: self.steps.into(),
            corpus: self.corpus.clone(),
            out: self.out.clone(),
            peer,
        })
    }
}
