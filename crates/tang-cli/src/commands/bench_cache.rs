//! `tang bench-cache`: measure the key/value cache, and write a report.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tang_lab::{BenchPlan, Provenance, ReportFolder, bench_cache};

use crate::{args::DeviceArgs, model::open_lab_models, output::publish, system::source_commit};

/// Models and lengths to measure.
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
    let place = options.device.place()?;
    let labs = open_lab_models(&options.checkpoints, &place)?;
    let folder = ReportFolder::create(&options.out)?;
    let plan = if options.quick { BenchPlan::QUICK } else { BenchPlan::FULL };
    let provenance = Provenance::this(place.name(), source_commit());
    let bench = bench_cache(&labs, plan, provenance)?;
    publish(&folder, &bench)
}
