//! `tang acrostic`: a poem whose lines begin with given characters.

use anyhow::{Context, Result, ensure};
use clap::Args;
use tang_prosody::{Form, Layout, LineLength, Template, is_han};

use crate::{
    args::{RuleArgs, SamplingArgs},
    input::{Given, UserText},
    output::{Breaks, write_poems},
};

/// The most lines that a poem may have.
const MAX_HEADS: usize = 16;

/// The heads, and the form if they leave a choice.
#[derive(Args)]
#[command(after_help = "Example:\n  tang acrostic 春眠不觉 --line 5")]
pub struct Options {
    /// One character per line, 1 to 16; for one outside its vocabulary, such as 玥, the model reads a stand-in
    heads: String,
    /// Place of each character in its line, counted from 1: 1 is 藏头, the last 藏尾
    #[arg(long, value_name = "PLACE", default_value_t = 1, value_parser = place)]
    place: i64,
    /// 五绝, 七绝, 五律 or 七律, with as many lines as there are characters
    #[arg(long)]
    form: Option<Form>,
    /// Characters per line, 5 or 7 [default: 7, or that of the form]
    #[arg(long, value_name = "LENGTH")]
    line: Option<LineLength>,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
}

/// Prints the poems, one line of verse per line.
pub fn run(options: &Options) -> Result<()> {
    let heads = UserText::new(&options.heads);
    let layout = layout(heads.len(), options.form, options.line)?;
    let length = layout.line_length().chars();
    let place = options.place;
    let column = (1..=length).position(|column| column as i64 == place);
    let column = column.with_context(|| {
        format!("--place {place} is not in a line of {length} characters: use 1 to {length}")
    })?;
    let loaded = options.sampling.checkpoint.open()?;
    let read = heads.read_lines(is_han, options.rules.sounds(), &loaded.vocabulary)?;
    let template = Template::acrostic(&read, layout, column)?;
    let given = Given::fixed(heads, &read, &template);
    let assignment = options.rules.assignment(&template, given, Breaks::Lines, &loaded)?;
    write_poems(&assignment, &loaded, &options.sampling)
}

/// Any whole number: the length of the line decides which are possible.
fn place(text: &str) -> Result<i64, String> {
    let number = text.parse();
    number.map_err(|_| "not a whole number: use 1 to 7".to_owned())
}

fn layout(heads: usize, form: Option<Form>, line: Option<LineLength>) -> Result<Layout> {
    ensure!(
        (1..=MAX_HEADS).contains(&heads),
        "an acrostic wants 1 to {MAX_HEADS} characters, one per line, and there are {heads}"
    );
    let Some(form) = form else {
        return Ok(Layout::new(heads, line.unwrap_or(LineLength::Seven)));
    };
    ensure!(
        form.lines() == heads,
        "--form {form} wants {} characters, one per line, and there are {heads}: add some, or leave --form out",
        form.lines()
    );
    let wanted = form.line_length();
    if let Some(line) = line {
        ensure!(
            line == wanted,
            "--form {form} has lines of {} characters, and --line says {}: leave one of them out",
            wanted.chars(),
            line.chars()
        );
    }
    Ok(form.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_flags_make_the_layout() {
        use LineLength::{Five, Seven};
        for (heads, form, line, wanted) in [
            (1, None, None, Layout::new(1, Seven)),
            (4, None, None, Layout::from(Form::QiJue)),
            (4, None, Some(Five), Layout::from(Form::WuJue)),
            (4, Some(Form::WuJue), None, Layout::from(Form::WuJue)),
            (8, Some(Form::QiLv), Some(Seven), Layout::from(Form::QiLv)),
            (16, None, Some(Five), Layout::new(16, Five)),
        ] {
            assert_eq!(layout(heads, form, line).unwrap(), wanted);
        }
    }

    #[test]
    fn contradictions_name_both_numbers() {
        for (heads, form, line, wanted) in [
            (0, None, None, "wants 1 to 16 characters, one per line, and there are 0"),
            (17, None, None, "there are 17"),
            (
                4,
                Some(Form::QiLv),
                None,
                "--form 七律 wants 8 characters, one per line, and there are 4",
            ),
            (
                4,
                Some(Form::WuJue),
                Some(LineLength::Seven),
                "lines of 5 characters, and --line says 7",
            ),
        ] {
            let error = layout(heads, form, line).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
