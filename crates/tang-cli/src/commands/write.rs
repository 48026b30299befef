//! `tang write`: a poem of a fixed form.

use anyhow::Result;
use clap::Args;
use tang_prosody::{Form, Template};

use crate::{
    poem_generation::{Assignment, write_poems},
    poem_output::Breaks,
    rule_args::RuleArgs,
    sampling_args::SamplingArgs,
    user_text::simplified,
};

/// Which form.
#[derive(Args)]
#[command(after_help = "Example:\n  tang write --form 五律 --regulated --traditional")]
pub struct Options {
    /// 五绝, 七绝, 五律 or 七律
    #[arg(long, default_value_t = Form::QiJue, conflicts_with = "template")]
    form: Form,
    /// Lines with given characters in place, * for any other: '春****，眠****。'
    #[arg(long, value_name = "LINES")]
    template: Option<String>,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
}

/// Prints the poems, one couplet a line.
pub fn run(options: &Options) -> Result<()> {
    let template = match &options.template {
        Some(text) => Template::parse(&simplified(text))?,
        None => Template::free(options.form.into()),
    };
    let loaded = options.sampling.checkpoint.open()?;
    let assignment = Assignment {
        task: options.rules.task(&template, &loaded)?,
        breaks: Breaks::Couplets,
    };
    write_poems(&assignment, &loaded, &options.sampling)
}
