//! `tang write`: a poem of a fixed form.

use anyhow::Result;
use clap::Args;
use tang_generate::Task;
use tang_prosody::Form;

use crate::{
    poem_generation::{Assignment, write_poems},
    poem_output::Breaks,
    sampling_args::SamplingArgs,
};

/// Which form.
#[derive(Args)]
#[command(after_help = "Example:\n  tang write --form 五律 --traditional")]
pub struct Options {
    /// 五绝, 七绝, 五律 or 七律
    #[arg(long, default_value_t = Form::QiJue)]
    form: Form,
    #[command(flatten)]
    sampling: SamplingArgs,
}

/// Prints the poems, one couplet a line.
pub fn run(options: &Options) -> Result<()> {
    let loaded = options.sampling.checkpoint.open()?;
    let assignment = Assignment {
        task: Task::form(options.form.into(), &loaded.vocabulary, loaded.context())?,
        length: Some(options.form.char_count()),
        breaks: Breaks::Couplets,
    };
    write_poems(&assignment, &loaded, &options.sampling)
}
