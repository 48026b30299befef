//! `tang write`: a poem of a fixed form.

use anyhow::Result;
use clap::Args;
use tang_prosody::{Form, Template};

use crate::{
    args::{RuleArgs, SamplingArgs},
    input::{Given, UserText},
    output::{Breaks, write_poems},
};

/// The form, or a template.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tang write --form 五律 --regulated --traditional --include 明月"
)]
pub struct Options {
    /// 五绝, 七绝, 五律 or 七律
    #[arg(long, default_value_t = Form::QiJue, conflicts_with = "template")]
    form: Form,
    /// Lines with given characters in place and * for all others: '春****，眠****。'
    #[arg(long, value_name = "LINES")]
    template: Option<String>,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
}

/// Prints the poems, one couplet per line.
pub fn run(options: &Options) -> Result<()> {
    let typed = options.template.as_deref().map(UserText::new);
    let loaded = options.sampling.checkpoint.open()?;
    let (template, given) = match typed {
        Some(text) => {
            let read =
                text.read_lines(Template::allows, options.rules.sounds(), &loaded.vocabulary)?;
            let template = Template::parse(&text.spaced(&read))?;
            let given = Given::fixed(text, &read, &template);
            (template, given)
        }
        None => (Template::free(options.form.into()), Given::default()),
    };
    let assignment = options.rules.assignment(&template, given, Breaks::Couplets, &loaded)?;
    write_poems(&assignment, &loaded, &options.sampling)
}
