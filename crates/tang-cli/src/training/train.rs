//! `tang train`: train a model.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use indicatif::HumanCount;
use tang_checkpoint::{ModelConfig, ModelPreset};
use tang_corpus::{Collections, CorpusFolder, Split};
use tang_files::write_atomically;
use tang_lab::{CurvePoint, loss_curve, peak_memory};
use tang_train::{LogLine, Outcome, Plan, Preset, RunFolder, RunLog, TrainConfig, Trainer};

use crate::{
    args::{DeviceArgs, count, whole},
    input::{CORPUS_FOLDER, build_corpus, corpus_build::open_split},
    model::example_heads,
    output::{note, print::print_path},
    system::{INTERRUPTED, StopRequest},
    training::environment::prepare_environment,
    training::plan::TrainingPlan,
    training::shell_word::shell_word,
    training::watch::TrainingWatch,
};

/// The model, its corpus and the length of the run.
#[derive(Args)]
#[command(after_help = "Example:\n  tang train --preset quick --out checkpoints/runs/mine")]
pub struct Options {
    /// Length of the run: quick (about 5 minutes), default (11), best (22), or song (45):
    /// Song and Tang poems, then Tang poems alone
    /// [default: default]
    #[arg(long)]
    preset: Option<Preset>,
    /// Network: tang-4l (GPT-2) or minimind-4l (Llama) [default: tang-4l]
    #[arg(long)]
    model: Option<ModelPreset>,
    /// Count of positions of the model [default: 128]
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    context: Option<usize>,
    /// Key/value heads of minimind-4l: 4, 2 or 1 [default: 2]
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    kv_heads: Option<usize>,
    /// A text file of poems, or a corpus folder [default: data, built if missing]
    #[arg(long, value_name = "PATH")]
    corpus: Option<PathBuf>,
    /// Folder of the run [default: checkpoints/runs/MODEL-PRESET]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the run in the folder, as it was started; repeat --out and --corpus
    #[arg(long, conflicts_with_all = ["seed", "steps", "context", "kv_heads"])]
    resume: bool,
    /// Seed of the starting values, of the order of the poems, and of dropout [default: 0]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// Train this many steps instead of the preset's
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    steps: Option<usize>,
    /// Print the plan of the run, after a few steps to measure time and memory; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

impl Options {
    fn preset(&self) -> Preset {
        self.preset.unwrap_or(Preset::Default)
    }

    fn model(&self) -> ModelPreset {
        self.model.unwrap_or_default()
    }

    fn folder(&self) -> PathBuf {
        let name = || format!("checkpoints/runs/{}-{}", self.model(), self.preset());
        self.out.clone().unwrap_or_else(|| name().into())
    }

    fn config(&self) -> TrainConfig {
        let mut config = self.preset().config();
        config.seed = self.seed.unwrap_or(config.seed);
        if let Some(steps) = self.steps {
            let song_steps = config.song_steps as u128 * steps as u128 / config.steps as u128;
            config.song_steps = song_steps as usize;
            config.steps = steps;
            config.evaluate_every = (steps / 10).max(1);
        }
        config
    }

    /// The geometry. The vocabulary has size 1 until the corpus brings its own.
    fn geometry(&self) -> ModelConfig {
        let mut config = self.model().config(1);
        config.context = self.context.unwrap_or(config.context);
        config.kv_heads = self.kv_heads.unwrap_or(config.kv_heads);
        config
    }

    /// The collections that the preset learns from.
    fn collections(&self) -> Collections {
        match self.preset() {
            Preset::Song => Collections::TangAndSong,
            Preset::Quick | Preset::Default | Preset::Best => Collections::Tang,
        }
    }

    fn split(&self, request: &StopRequest) -> Result<Split> {
        if let Some(path) = &self.corpus {
            return Ok(open_split(path)?);
        }
        let folder = CorpusFolder::new(CORPUS_FOLDER);
        // A run to resume has its corpus already, which may not be the published one.
        if !folder.exists() && !self.resume && !self.dry_run {
            note(format_args!("no corpus in {CORPUS_FOLDER} yet: building it"));
            build_corpus(None, self.collections(), &folder, None, request)?;
        }
        Ok(folder.open()?)
    }

    /// Prints the plan.
    fn print_plan(&self, request: &StopRequest) -> Result<()> {
        let folder = self.folder();
        let device = self.device.open()?;
        let plan = if self.resume {
            Plan::of_rest(&folder, self.split(request)?, &device)?
        } else {
            let (config, geometry) = (self.config(), self.geometry());
            Plan::of_start(config, geometry, self.split(request)?, &device)?
        };
        let plan = TrainingPlan {
            plan,
            corpus: self.corpus.as_deref().unwrap_or(Path::new(CORPUS_FOLDER)),
            folder: &folder,
            is_rest: self.resume,
        };
        Ok(write!(io::stdout().lock(), "{plan}")?)
    }

    /// The command that goes on with the run.
    fn resume_line(&self) -> String {
        let out = shell_word(&self.folder());
        let corpus = self.corpus.as_ref();
        let corpus = corpus.map(|corpus| format!(" --corpus {}", shell_word(corpus)));
        let (corpus, device) = (corpus.unwrap_or_default(), self.device.flag());
        format!("tang train --resume --out {out}{corpus}{device}")
    }
}

/// Trains to the end, or until an interrupt; prints the folder. A dry run prints its plan instead.
pub fn run(options: &Options) -> Result<ExitCode> {
    ensure!(
        !(options.resume && options.out.is_some())
            || (options.model.is_none() && options.preset.is_none()),
        "--resume goes on with the run in --out as it was started: leave out --model and --preset"
    );
    prepare_environment();
    let request = StopRequest::watch()?;
    if options.dry_run {
        options.print_plan(&request)?;
        return Ok(ExitCode::SUCCESS);
    }
    let device = options.device.open()?;
    let path = options.folder();
    let mut trainer = if options.resume {
        let folder = RunFolder::resume(&path)?;
        Trainer::resume(options.split(&request)?, folder, &device)?
    } else {
        let (config, geometry) = (options.config(), options.geometry());
        // Wrong options are errors before the corpus, which may have to be built.
        config.validate()?;
        geometry.validate()?;
        Trainer::start(config, geometry, options.split(&request)?, &path, &device)?
    };
    note(format_args!(
        "training into {}: {} of {} steps are done, {} steps are an epoch, vocabulary {}",
        path.display(),
        trainer.step(),
        trainer.config().steps,
        trainer.steps_per_epoch(),
        trainer.vocabulary().len(),
    ));

    request.hold(true);
    let mut watch = TrainingWatch::new(&trainer, request.came());
    let outcome = trainer.run(&mut watch)?;
    drop(watch);
    note_speed(&trainer);
    if outcome == Outcome::Stopped {
        note(format_args!(
            "stopped after step {} and saved; go on with `{}`",
            trainer.step(),
            options.resume_line()
        ));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let log = RunLog::read(&trainer.folder().log_path())?;
    // A finished run has no log if the log was moved away.
    if !log.is_empty() {
        write_loss_curve(&log, &path.join("loss.svg"))?;
    }
    let heads = example_heads(trainer.vocabulary(), trainer.model().context);
    let folder = shell_word(&path);
    let example = heads.map(|heads| format!("; try `tang acrostic {heads} --checkpoint {folder}`"));
    note(format_args!("done{}", example.unwrap_or_default()));
    print_path(&path)?;
    Ok(ExitCode::SUCCESS)
}

fn note_speed(trainer: &Trainer) {
    let (tokens, seconds) = (trainer.tokens(), trainer.train_seconds());
    let peak = peak_memory(std::process::id());
    let peak = peak.map(|peak| format!(", peak memory {peak}"));
    note(format_args!(
        "trained {} characters in {:.1} min, {:.0} characters/s{}",
        HumanCount(tokens),
        seconds / 60.0,
        tokens as f64 / seconds,
        peak.unwrap_or_default()
    ));
}

fn write_loss_curve(log: &[LogLine], path: &Path) -> Result<()> {
    let points = log.iter().map(|line| CurvePoint {
        step: line.step,
        train: line.train_nats_per_char,
        validation: line.evaluation.map(|evaluation| evaluation.nats_per_char),
    });
    let curve = loss_curve(&points.collect::<Vec<_>>())?;
    write_atomically(path, curve.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
