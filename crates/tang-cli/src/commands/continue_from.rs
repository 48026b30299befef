//! `tang continue`: go on from the beginning of a poem.

use anyhow::Result;
use clap::Args;
use tang_generate::Task;

use crate::{
    args::SamplingArgs,
    input::{Given, UserText},
    output::{Assignment, Breaks, write_poems},
};

/// The beginning of the poems.
#[derive(Args)]
#[command(after_help = "Example:\n  tang continue 春风 -n 3")]
pub struct Options {
    /// The beginning of the poem; each mark closes a line, like ， or 。
    text: String,
    #[command(flatten)]
    sampling: SamplingArgs,
}

/// Prints the whole poems, one couplet per line.
pub fn run(options: &Options) -> Result<()> {
    let loaded = options.sampling.checkpoint.open()?;
    let text = UserText::new(&options.text);
    let read = text.read(&loaded.vocabulary)?;
    let assignment = Assignment {
        task: Task::continuation(&read, &loaded.vocabulary)?,
        given: Given::opening(text, &read),
        words: Vec::new(),
        breaks: Breaks::Couplets,
    };
    write_poems(&assignment, &loaded, &options.sampling)
}
