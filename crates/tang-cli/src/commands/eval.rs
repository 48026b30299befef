//! `tang eval`: how many poems keep the rules.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tang_corpus::{CorpusFolder, Split};
use tang_generate::GenerationConfig;
use tang_lab::EvalOptions;
use tang_prosody::Form;

use crate::{
    args::{CheckpointArgs, SearchArgs, SettingArgs, whole},
    input::{CORPUS_FOLDER, open_split},
    model::open_lab_model,
    output::print,
};

/// Which poems, and how they are written.
#[derive(Args)]
#[command(after_help = "Example:\n  tang eval --form 七绝 --poems 100")]
pub struct Options {
    /// Poems of each kind
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole(1..=u32::MAX))]
    poems: u32,
    /// Only this form: 五绝, 七绝, 五律 or 七律; may be given several times [default: the four forms,
    /// then free samples]
    #[arg(long)]
    form: Vec<Form>,
    /// Seed of the first poem of each kind, the next ones count up from it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    #[command(flatten)]
    setting: SettingArgs,
    #[command(flatten)]
    search: SearchArgs,
    /// A corpus folder, or a text file of poems, for held-out poems, heads and copied
    /// lines [default: data]
    #[arg(long, value_name = "PATH")]
    corpus: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    checkpoint: CheckpointArgs,
}

impl Options {
    fn split(&self) -> Result<Split> {
        Ok(match &self.corpus {
            Some(path) => open_split(path)?,
            None => CorpusFolder::new(CORPUS_FOLDER).open()?,
        })
    }

    fn eval_options(&self) -> EvalOptions {
        let wanted = |form: &Form| self.form.is_empty() || self.form.contains(form);
        EvalOptions {
            poems: self.poems as usize,
            forms: Form::ALL.into_iter().filter(wanted).collect(),
            open: self.form.is_empty(),
            config: GenerationConfig { seed: self.seed, ..self.setting.config() },
            search: self.search.search(),
        }
    }
}

/// Prints tables, or one object.
pub fn run(options: &Options) -> Result<()> {
    let split = options.split()?;
    let lab = open_lab_model(&options.checkpoint)?;
    let eval_options = options.eval_options();
    let eval = tang_lab::eval(&lab, &split, &eval_options)?;
    print(&eval, options.json)
}
