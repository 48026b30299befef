//! `tang check`: whether poems keep the rules.

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Result;
use clap::Args;
use tang_prosody::{Verdict, check};

use crate::{
    error_message::error_message,
    json_output::write_json,
    note::note,
    poem_input::read_poems,
    verdict_output::{JudgedPoem, write_poem, write_summary},
};

/// The most poems that are shown each.
const SHOWN: usize = 20;

/// What nobody can read.
const UNREADABLE: u8 = 2;

/// What the output and the exit code mean.
const HELP: &str = "\
A poem passes if its even lines rhyme and its tones follow one of four sequences at positions 2, 4, 6
and at the ends of the lines. Each tone is shown: 平 level, 仄 oblique, 中 both, ？ unknown; one that is
wrong in brackets. The table has percentages: of poems, of single positions (place), of couplets (对, 粘),
and of the lines that break a rule (孤平, 三平调). The exit code is 0 if all poems pass, 1 if one does
not, 2 if none can be read.

Example:
  tang check poems.txt --strict";

/// Which poems, and how strictly.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Options {
    /// A text file, one poem a line or an empty line between two; `-` is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Forbid 孤平 and 三平调, too
    #[arg(long)]
    strict: bool,
    /// Print a table of shares by form only, as for more than 20 poems
    #[arg(long)]
    summary: bool,
    /// Print one JSON object a poem
    #[arg(long, conflicts_with = "summary")]
    json: bool,
}

/// Prints a verdict a poem, or a table.
pub fn run(options: &Options) -> Result<ExitCode> {
    let poems = match read_poems(&options.file) {
        Ok(poems) => poems,
        Err(error) => {
            note(format_args!("error: {}", error_message(&error)));
            return Ok(ExitCode::from(UNREADABLE));
        }
    };
    let judged: Vec<JudgedPoem> = poems
        .iter()
        .map(|text| JudgedPoem::new(text, check(text)))
        .collect();
    // Colours go to terminals only, and not where NO_COLOR is set.
    let mut out = BufWriter::new(anstream::AutoStream::auto(io::stdout().lock()));
    if options.json {
        judged
            .iter()
            .try_for_each(|poem| write_json(&mut out, poem))?;
    } else if options.summary || judged.len() > SHOWN {
        if !options.summary {
            note(format_args!(
                "{} poems: their shares only; --json prints each verdict",
                judged.len()
            ));
        }
        write_summary(&mut out, &judged)?;
    } else {
        for (index, poem) in judged.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            write_poem(&mut out, poem)?;
        }
    }
    out.flush()?;
    let passes = |verdict: &Verdict| {
        if options.strict {
            verdict.passes_strictly()
        } else {
            verdict.passes()
        }
    };
    let all = judged.iter().all(|poem| poem.verdict().is_some_and(passes));
    Ok(if all {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
