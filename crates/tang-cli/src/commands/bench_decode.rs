//! `tang bench-decode`: measure how fast a model decodes, and write a report.

use std::{env, ffi::OsString, path::PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use tang_lab::{
    DecodePlan, DecodeSubject, LabModel, Provenance, ReportFolder, TorchScript, bench_decode,
};

use crate::{
    args::Place,
    model::{example_heads, open_lab_models},
    output::{note, publish},
    system::{source_commit, start_threads},
};

/// Models to measure, and programs beside them.
#[derive(Args)]
#[command(after_help = "Example:\n  tang bench-decode --quick --checkpoint checkpoints/tang-4l")]
pub struct Options {
    /// Folder of a model; repeat it for more models
    #[arg(
        long = "checkpoint",
        value_name = "DIR",
        default_values = ["checkpoints/tang-4l", "checkpoints/minimind-4l"]
    )]
    checkpoints: Vec<PathBuf>,
    /// Folder for report.md, report.json and the plot
    #[arg(long, value_name = "DIR", default_value = "target/bench-decode")]
    out: PathBuf,
    /// Python with PyTorch, to run scripts/torch_decode_peer.py of this folder with, which measures the same
    /// geometry
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Measure everything, but with short texts and 2 runs
    #[arg(long)]
    quick: bool,
}

/// Writes the report and prints it, as Markdown and then as one line of JSON.
pub fn run(options: &Options) -> Result<()> {
    start_threads()?;
    let place = Place::cpu();
    let labs = open_lab_models(&options.checkpoints, &place)?;
    let folder = ReportFolder::create(&options.out)?;
    let plan = if options.quick { DecodePlan::QUICK } else { DecodePlan::FULL };
    let folders = options.checkpoints.iter();
    let subjects: Vec<DecodeSubject> = labs
        .into_iter()
        .zip(folders)
        .map(|(lab, folder)| DecodeSubject { poem: acrostic(&lab, folder.into()), lab })
        .collect();
    let program = env::current_exe().context("cannot find this program to run it")?;
    let bench = bench_decode(
        &subjects,
        &program,
        torch_script(options).as_ref(),
        plan,
        Provenance::this(place.name(), source_commit()),
    )?;
    publish(&folder, &bench)
}

/// The arguments that write an acrostic of characters that the model knows.
fn acrostic(lab: &LabModel, checkpoint: OsString) -> Vec<OsString> {
    let heads = example_heads(&lab.vocabulary, lab.model.config().context);
    vec!["acrostic".into(), heads.unwrap_or_default().into(), "--checkpoint".into(), checkpoint]
}

/// The script runs only if a flag asks for it: the folder may belong to somebody else.
fn torch_script(options: &Options) -> Option<TorchScript> {
    let Some(python) = options.python.clone() else {
        note("PyTorch is not measured: give a Python that has it with --python");
        return None;
    };
    let script = PathBuf::from("scripts/torch_decode_peer.py");
    if let Some(missing) = [&python, &script].into_iter().find(|path| !path.exists()) {
        note(format_args!("PyTorch is not measured: there is no {}", missing.display()));
        return None;
    }
    Some(TorchScript { python, script })
}
