//! `tang check`: whether poems keep the rules.

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Result;
use clap::Args;
use tang_prosody::Verdict;

use crate::{
    input::{left_out, read_page},
    output::{
        JudgedPoem, error_message, is_closed_pipe, judge, note, write_json, write_poem,
        write_summary,
    },
};

/// The most poems that are shown one by one.
const SHOWN: usize = 20;

/// The exit code if no poem can be read.
const UNREADABLE: u8 = 2;

/// Meaning of the output and of the exit code.
const HELP: &str = "\
A poem passes if its even lines rhyme and its tones follow one of four sequences at positions 2, 4, 6
and at the ends of the lines, or are saved in the next line (对句救). Each tone is shown: 平 level, 仄
oblique, 中 both, ？ unknown; one that is wrong in brackets. The table has percentages: of poems, of single
positions (place), of couplets (对, 粘), of the lines that break a rule (孤平, 三平调), all of them without
对句救; the last column is 'both' with it. The exit code is 0 if all poems pass, 1 if one does not, 2 if
none can be read.

A character that no rhyme book has, such as 妈, has the tone of a modern pronunciation; a level one rhymes
with any group. Such characters are listed below their poem.

Lines may be closed by any mark or by the ends of equally long rows. Titles and authors above a poem, notes
in brackets and numbers are left out. Where a text is no poem, its line and character are named.

Example:
  tang check poems.txt --strict";

/// Which poems, and how strictly.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Options {
    /// A text file, one poem a line or an empty line between two; `-` is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Forbid 孤平, 三平调 and 对句救, too
    #[arg(long)]
    strict: bool,
    /// Print only a table of shares by form, as for more than 20 poems
    #[arg(long)]
    summary: bool,
    /// Print one JSON object per poem
    #[arg(long, conflicts_with = "summary")]
    json: bool,
}

/// Prints a verdict per poem, or a table.
pub fn run(options: &Options) -> Result<ExitCode> {
    let page = match read_page(&options.file) {
        Ok(page) => page,
        Err(error) => {
            note(format_args!("error: {}", error_message(&error)));
            return Ok(ExitCode::from(UNREADABLE));
        }
    };
    if !page.left_out.is_empty() {
        note(format_args!("left out: {}", left_out(&page.left_out)));
    }
    let judged = judge(&page.texts);
    match print(options, &judged).map_err(anyhow::Error::from) {
        // If the reader has closed stdout, the exit code still gives the verdict.
        Err(error) if is_closed_pipe(&error) => {}
        result => result?,
    }
    let passes = if options.strict { Verdict::passes_strictly } else { Verdict::passes };
    let all = judged.iter().all(|poem| poem.verdict.as_ref().is_some_and(passes));
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(options: &Options, judged: &[JudgedPoem]) -> io::Result<()> {
    // Colours go to terminals only, and not where NO_COLOR is set.
    let mut out = BufWriter::new(anstream::AutoStream::auto(io::stdout().lock()));
    if options.json {
        for poem in judged {
            write_json(&mut out, poem)?;
        }
    } else if options.summary || judged.len() > SHOWN {
        if !options.summary {
            note(format_args!(
                "{} poems: their shares only; --json prints each verdict",
                judged.len()
            ));
        }
        write_summary(&mut out, judged)?;
    } else {
        for (index, poem) in judged.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            write_poem(&mut out, poem)?;
        }
    }
    out.flush()
}
