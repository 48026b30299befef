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
use tang_corpus::{CorpusFolder, Split};
use tang_files::write_atomically;
use tang_lab::{CurvePoint, loss_curve, peak_memory};
use tang_train::{LogLine, Outcome, Plan, Preset, RunFolder, RunLog, TrainConfig, Trainer};

use crate::{
    corpus_build::{CORPUS_FOLDER, build_corpus, open_split},
    device_args::DeviceArgs,
    example_heads::example_heads,
    interrupt::INTERRUPTED,
    note::note,
    number::{count, whole},
    path_output::print_path,
    shell_word::shell_word,
    stop_request::StopRequest,
    training_environment::prepare_environment,
    training_plan::TrainingPlan,
    training_watch::TrainingWatch,
};

/// What to train, and for how long.
#[derive(Args)]
#[command(after_help = "Example:\n  tang train --preset quick --out checkpoints/runs/mine")]
pub struct Options {
    /// How long to train: quick (about 5 minutes), default (11) or best (22)
    /// [default: default]
    #[arg(long)]
    preset: Option<Preset>,
    /// Which network: tang-4l (GPT-2) or minimind-4l (Llama) [default: tang-4l]
    #[arg(long)]
    model: Option<ModelPreset>,
    /// Positions of the model [default: 128]
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
    /// Go on with the run in that folder, as it was started; repeat --out and --corpus
    #[arg(long, conflicts_with_all = ["seed", "steps", "context", "kv_heads"])]
    resume: bool,
    /// Seed of the starting values, of the order of the poems, and of dropout [default: 0]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// Train this many steps instead of the preset's
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    steps: Option<usize>,
    /// Print what would be done, after a few steps to measure time and memory; write nothing
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
        match &self.out {
            Some(out) => out.clone(),
            None => {
                let name = format!("{}-{}", self.model(), self.preset());
                Path::new("checkpoints/runs").join(name)
            }
        }
    }

    fn config(&self) -> TrainConfig {
        let mut config = self.preset().config();
        if let Some(seed) = self.seed {
            config.seed = seed;
        }
        if let Some(steps) = self.steps {
            config.steps = steps;
            config.evaluate_every = (steps / 10).max(1);
        }
        config
    }

    /// The geometry, but for the vocabulary, which the corpus brings; its size here is a stand-in.
    fn geometry(&self) -> ModelConfig {
        let mut config = self.model().config(1);
        if let Some(context) = self.context {
            config.context = context;
        }
        if let Some(kv_heads) = self.kv_heads {
            config.kv_heads = kv_heads;
        }
        config
    }

    fn split(&self, request: &StopRequest) -> Result<Split> {
        if let Some(path) = &self.corpus {
            return Ok(open_split(path)?);
        }
        let folder = CorpusFolder::new(CORPUS_FOLDER);
        // A run to resume was started on some corpus already; the published one is no guess at it.
        if !folder.exists() && !self.resume && !self.dry_run {
            note(format_args!(
                "no corpus in {CORPUS_FOLDER} yet: building it"
            ));
            build_corpus(None, &folder, request)?;
        }
        Ok(folder.open()?)
    }

    fn plan(&self, request: &StopRequest) -> Result<TrainingPlan> {
        let folder = self.folder();
        let device = self.device.open()?;
        let plan = match self.resume {
            true => Plan::of_rest(&folder, self.split(request)?, &device)?,
            false => Plan::of_start(
                self.config(),
                self.geometry(),
                self.split(request)?,
                &device,
            )?,
        };
        Ok(TrainingPlan {
            plan,
            corpus: self.corpus.clone().unwrap_or_else(|| CORPUS_FOLDER.into()),
            folder,
            is_rest: self.resume,
            peak_memory: peak_memory(std::process::id()),
        })
    }

    /// The command that goes on with the run in `folder`.
    fn resume_line(&self, folder: &Path) -> String {
        let corpus = match &self.corpus {
            Some(corpus) => format!(" --corpus {}", shell_word(corpus)),
            None => String::new(),
        };
        let device = self.device.flag();
        format!(
            "tang train --resume --out {}{corpus}{device}",
            shell_word(folder)
        )
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
        write!(io::stdout().lock(), "{}", options.plan(&request)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let device = options.device.open()?;
    let path = options.folder();
    let mut trainer = if options.resume {
        let folder = RunFolder::resume(&path)?;
        Trainer::resume(options.split(&request)?, folder, &device)?
    } else {
        let (config, geometry) = (options.config(), options.geometry());
        // What can be wrong with the options comes before the corpus, which may have to be built.
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

    request.hold_one();
    let mut watch = TrainingWatch::new(&trainer, request.came());
    let outcome = trainer.run(&mut watch)?;
    drop(watch);
    note(what_was_trained(&trainer));
    if outcome == Outcome::Stopped {
        note(format_args!(
            "stopped after step {} and saved; go on with `{}`",
            trainer.step(),
            options.resume_line(&path)
        ));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let log = RunLog::read(&trainer.folder().log_path())?;
    // A run that was over has none, if it was moved away.
    if !log.is_empty() {
        write_loss_curve(&log, &path.join("loss.svg"))?;
    }
    note(what_to_try(&trainer, &path));
    print_path(&path)?;
    Ok(ExitCode::SUCCESS)
}

fn what_to_try(trainer: &Trainer, folder: &Path) -> String {
    let context = trainer.model().context;
    match example_heads(trainer.vocabulary(), context) {
        Some(heads) => format!(
            "done; try `tang acrostic {heads} --checkpoint {}`",
            shell_word(folder)
        ),
        None => "done".to_owned(),
    }
}

fn what_was_trained(trainer: &Trainer) -> String {
    let (tokens, seconds) = (trainer.tokens(), trainer.train_seconds());
    let mut text = format!(
        "trained {} characters in {:.1} min, {:.0} characters/s",
        HumanCount(tokens),
        seconds / 60.0,
        tokens as f64 / seconds
    );
    if let Some(peak) = peak_memory(std::process::id()) {
        text += &format!(", peak memory {peak}");
    }
    text
}

fn write_loss_curve(log: &[LogLine], path: &Path) -> Result<()> {
    let points: Vec<CurvePoint> = log.iter().map(curve_point).collect();
    write_atomically(path, loss_curve(&points)?.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

fn curve_point(line: &LogLine) -> CurvePoint {
    CurvePoint {
        step: line.step,
        train: line.train_nats_per_char,
        validation: line.evaluation.map(|evaluation| evaluation.nats_per_char),
    }
}
