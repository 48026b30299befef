//! `tang next`: the likeliest next characters, beside those of the corpus.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use tang_corpus::{CorpusError, CorpusFolder, NextCharacters};
use tang_files::escape_value;
use tang_generate::{Task, next_tokens};

use crate::{
    args::{CheckpointArgs, whole},
    input::{CORPUS_FOLDER, Given, StandIn, UserText, note_stand_ins, read_corpus},
    output::{error_message, note, write_json},
};

/// The text, and the length of the list.
#[derive(Args)]
#[command(after_help = "Example:\n  tang next 春风 --top 5")]
pub struct Options {
    /// The text before the next character: for the model the beginning of a poem, in the corpus any place;
    /// '' is the beginning of a poem for both
    text: String,
    /// Number of characters to list
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = whole(1..=u32::MAX))]
    top: u32,
    /// A corpus folder, or a text file of poems [default: data, left out if missing]
    #[arg(long, value_name = "PATH")]
    corpus: Option<PathBuf>,
    /// Print one JSON object per character
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    checkpoint: CheckpointArgs,
}

/// One character that may come next.
#[derive(Debug, Serialize)]
struct Row<'a> {
    rank: usize,
    character: char,
    /// Probability under the model, 0 to 1.
    model: f64,
    /// Relative frequency in the corpus, 0 to 1; `None` without a corpus, or if the text is not in it.
    corpus: Option<f64>,
    /// Count in the corpus.
    count: Option<usize>,
    /// The characters of the text for which the model reads others; the corpus has the text itself.
    #[serde(skip_serializing_if = "<[StandIn]>::is_empty")]
    stand_ins: &'a [StandIn],
}

/// Prints the likeliest characters.
pub fn run(options: &Options) -> Result<()> {
    let loaded = options.checkpoint.open()?;
    let typed = UserText::new(&options.text);
    let text = typed.read(&loaded.vocabulary)?;
    let stand_ins = &Given::opening(typed, &text).stand_ins(&loaded.vocabulary);
    note_stand_ins(stand_ins);
    let task =
        if text.is_empty() { Task::open() } else { Task::continuation(&text, &loaded.vocabulary)? };
    let poems = poems(options.corpus.as_deref())?;
    let in_corpus = poems.map(|poems| {
        if text.is_empty() {
            NextCharacters::first(&poems)
        } else {
            NextCharacters::count(&poems, &text)
        }
    });
    let tokens = next_tokens(&mut *loaded.cached(), task.prompt(), options.top as usize)?;
    let mut rows = Vec::new();
    for (rank, next) in (1..).zip(tokens) {
        let character = loaded.vocabulary.char(next.token);
        let character = character.expect("each token of an opened model has a character");
        let model = next.probability;
        rows.push(Row::new(rank, character, model, in_corpus.as_ref(), stand_ins));
    }
    let mut out = io::stdout().lock();
    if !options.json {
        writeln!(out, "rank  character  model %  corpus %  count")?;
    }
    for row in &rows {
        if options.json {
            write_json(&mut out, row)?;
        } else {
            writeln!(out, "{}", table_line(row))?;
        }
    }
    Ok(())
}

/// The poems of the corpus; none if the default one is not built.
fn poems(path: Option<&Path>) -> Result<Option<Vec<String>>> {
    let folder = CorpusFolder::new(path.unwrap_or(Path::new(CORPUS_FOLDER)));
    match path {
        Some(file) if !file.is_dir() => Ok(Some(read_corpus(file)?.poems)),
        Some(_) => Ok(Some(folder.poems()?)),
        None => match folder.poems() {
            Err(error @ CorpusError::NotBuilt(_)) => {
                let message = error_message(&error.into());
                note(format_args!("{message}; the corpus column stays blank"));
                Ok(None)
            }
            poems => Ok(Some(poems?)),
        },
    }
}

impl<'a> Row<'a> {
    fn new(
        rank: usize,
        character: char,
        model: f64,
        in_corpus: Option<&NextCharacters>,
        stand_ins: &'a [StandIn],
    ) -> Self {
        let count = in_corpus.map(|next| {
            let found = next.counts.iter().find(|(c, _)| *c == character);
            found.map_or(0, |(_, count)| *count)
        });
        let total = in_corpus.map(|next| next.occurrences);
        let total = total.filter(|total| *total > 0);
        Self {
            rank,
            character,
            model,
            corpus: count.zip(total).map(|(count, total)| count as f64 / total as f64),
            count,
            stand_ins,
        }
    }
}

fn table_line(row: &Row) -> String {
    // A Han character is two columns wide, and so is a mark.
    let character = match row.character {
        '\n' => "⏎ ".to_owned(),
        c => escape_value(&c.to_string()),
    };
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let corpus = row.corpus.map(percent).unwrap_or_default();
    let count = row.count.map(|count| count.to_string()).unwrap_or_default();
    let model = percent(row.model);
    let line = format!("{:>4}  {character}         {model:>5}  {corpus:>8}  {count:>5}", row.rank);
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_in_place() {
        let row = |character, corpus, count| Row {
            rank: 1,
            character,
            model: 0.125,
            corpus,
            count,
            stand_ins: &[],
        };
        assert_eq!(
            table_line(&row('。', Some(0.139), Some(111))),
            "   1  。          12.5      13.9    111"
        );
        assert_eq!(table_line(&row('\n', None, None)), "   1  ⏎           12.5");
        let escape = table_line(&row('\u{1b}', None, None));
        assert_eq!(escape, r"   1  \u{1b}          12.5");
    }
}
