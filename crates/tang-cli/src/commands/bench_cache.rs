//! `tang bench-cache`: measure what the key/value cache does, and write it down.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use tang_files::write_atomically;
use tang_lab::{BenchCache, BenchPlan, LabModel, Provenance, bench_cache};

use crate::{
    lab_model::open_lab_model, loaded_model::CheckpointArgs, note::note,
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
}

impl Options {
    fn open(&self) -> Result<Vec<LabModel>> {
        let mut labs: Vec<LabModel> = Vec::new();
        for checkpoint in &self.checkpoints {
            let checkpoint = checkpoint.clone();
            let lab = open_lab_model(&CheckpointArgs { checkpoint })?;
            ensure!(
                labs.iter().all(|other| other.name != lab.name),
                "two of the models are called {}, and so would be their plots: \
                 give each folder once, and rename one of two with the same name",
                lab.name
            );
            labs.push(lab);
        }
        Ok(labs)
    }
}

/// Writes the report and prints it, as Markdown and then as one line of JSON.
pub fn run(options: &Options) -> Result<()> {
    let labs = options.open()?;
    let out = &options.out;
    // Before some minutes of work, not after.
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let probe = out.join(".writable");
    write_atomically(&probe, b"")
        .and_then(|()| fs::remove_file(&probe))
        .with_context(|| format!("cannot write into {}", out.display()))?;
    let plan = match options.quick {
        true => BenchPlan::QUICK,
        false => BenchPlan::FULL,
    };
    let provenance = Provenance::this(source_commit());
    let bench = bench_cache(&labs, plan, provenance, &mut |text| note(text))?;
    let page = bench.to_string();
    let json = serde_json::to_string(&bench)?;
    let written = write_report(out, &bench, &page);
    // Printed even where it cannot be kept.
    writeln!(io::stdout().lock(), "{page}\n\n{json}")?;
    written
}

fn write_report(out: &Path, bench: &BenchCache, page: &str) -> Result<()> {
    let mut files = bench.plots()?;
    files.push((
        "report.json".to_owned(),
        serde_json::to_string_pretty(bench)?,
    ));
    // Last, since it shows the plots.
    files.push(("report.md".to_owned(), format!("{page}\n")));
    for (name, contents) in files {
        let path = out.join(name);
        write_atomically(&path, contents.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    note(format_args!(
        "written to {}",
        out.join("report.md").display()
    ));
    Ok(())
}
