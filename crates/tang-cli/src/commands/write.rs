//! `tang write`: a poem of a fixed form.

use anyhow::Result;
use clap::Args;
use tang_prosody::{Form, ProsodyError, Template};

use crate::{
    given::Given,
    poem_generation::{Assignment, write_poems},
    poem_output::Breaks,
    rule_args::RuleArgs,
    sampling_args::SamplingArgs,
    user_text::UserText,
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
    let typed = options.template.as_deref().map(UserText::new);
    if let Some(text) = &typed {
        check_lines(text)?;
    }
    let loaded = options.sampling.checkpoint.open()?;
    let (template, given) = match typed {
        Some(text) => {
            let read =
                text.read_lines(Template::allows, options.rules.sounds(), &loaded.vocabulary)?;
            let template = Template::parse(&text.spaced(&read))?;
            let given = Given::fixed(text, &template);
            (template, given)
        }
        None => (Template::free(options.form.into()), Given::default()),
    };
    let assignment = Assignment {
        task: options.rules.task(&template, &given, &loaded)?,
        given,
        breaks: Breaks::Couplets,
    };
    write_poems(&assignment, &loaded, &options.sampling)
}

/// Refuses wrong lines before a model is opened. Wrong characters are told together with those that
/// the model does not know.
fn check_lines(text: &UserText) -> Result<(), ProsodyError> {
    match Template::parse(&text.spaced(&text.printed(None))) {
        Ok(_) | Err(ProsodyError::NotHan { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
