//! `tang bench-cache`: measure what the key/value cache does, and write it down.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tang_lab::{BenchPlan, Provenance, ReportFolder, bench_cache};
use tang_model::device;

use crate::{
    bench_output::publish,
    device_args::{DeviceArgs, Place},
    lab_model::open_lab_models,
    source_commit::source_commit,
};

/// What to measure.
#[derive(Args)]
#[command(after_help = "Example:\n  tang bench-cache --quick --checkpoint checkpoints/tang-4l")]
pub struct Options {
    /// Folder of a model; repeat it for more models
    #[arg(
        long = "checkpoint",
        value_name = "DIR",
        default_values = ["checkpoints/tang-4l", "checkpoints/minimind-4l"]
    )]
    checkpoints: Vec<PathBuf>,
    /// Folder for report.md, report.json and the plots
    #[arg(long, value_name = "DIR", default_value = "target/bench-cache")]
    out: PathBuf,
    /// Measure everything, but with few cases, short texts and 3 runs
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Writes the report and prints it, as Markdown and then as one line of JSON.
pub fn run(options: &Options) -> Result<()> {
    let device = options.device.open()?;
    let labs = open_lab_models(&options.checkpoints, &Place::of(&device))?;
    let folder = ReportFolder::create(&options.out)?;
    let plan = if options.quick {
        BenchPlan::QUICK
    } else {
        BenchPlan::FULL
    };
    let provenance = Provenance::this(device::name(&device), source_commit());
    let bench = bench_cache(&labs, plan, provenance)?;
    publish(&folder, &bench)
}
