//! `tang continue`: go on from the beginning of a poem.

use anyhow::Result;
use clap::Args;
use tang_generate::Task;

use crate::{
    given::Given,
    poem_generation::{Assignment, write_poems},
    poem_output::Breaks,
    sampling_args::SamplingArgs,
    user_text::UserText,
};

/// What to go on from.
#[derive(Args)]
#[command(after_help = "Example:\n  tang continue 春风 -n 3")]
pub struct Options {
    /// The beginning of the poem; each mark closes a line, as ， or 。
    text: String,
    #[command(flatten)]
    sampling: SamplingArgs,
}

/// Prints the poems, what was given included, one couplet a line.
pub fn run(options: &Options) -> Result<()> {
    let loaded = options.sampling.checkpoint.open()?;
    let text = UserText::new(&options.text);
    let read = text.read(&loaded.vocabulary)?;
    let assignment = Assignment {
        task: Task::continuation(&read, &loaded.vocabulary)?,
        given: Given::opening(text),
        breaks: Breaks::Couplets,
    };
    write_poems(&assignment, &loaded, &options.sampling)
}
