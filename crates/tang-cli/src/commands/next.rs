//! `tang next`: what a model expects next, beside what the corpus has.

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
    corpus_build::{CORPUS_FOLDER, read_corpus},
    json_output::write_json,
    loaded_model::{CheckpointArgs, LoadedModel},
    note::note,
    number::whole,
    user_text::UserText,
};

/// After what to look, and how far.
#[derive(Args)]
#[command(after_help = "Example:\n  tang next 春风 --top 5")]
pub struct Options {
    /// What the next character follows; to the model it is the beginning of a poem, in the corpus it
    /// counts wherever it stands; '' is the place before the first character
    text: String,
    /// Number of characters to list
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = whole(1..=u32::MAX))]
    top: u32,
    /// A corpus folder, or a text file of poems [default: data, left out if missing]
    #[arg(long, value_name = "PATH")]
    corpus: Option<PathBuf>,
    /// Print one JSON object a character
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    checkpoint: CheckpointArgs,
}

/// One character that may come next.
#[derive(Debug, Serialize)]
struct Row {
    rank: usize,
    character: char,
    /// Probability under the model, 0 to 1.
    model: f64,
    /// Relative frequency in the corpus, 0 to 1; none without a corpus, or if the text is not in it.
    corpus: Option<f64>,
    /// How often it follows in the corpus.
    count: Option<usize>,
}

/// Prints the most likely characters.
pub fn run(options: &Options) -> Result<()> {
    let loaded = options.checkpoint.open()?;
    let text = UserText::new(&options.text).read(&loaded.vocabulary)?;
    let task = if text.is_empty() {
        Task::open()
    } else {
        Task::continuation(&text, &loaded.vocabulary)?
    };
    let in_corpus = poems(options.corpus.as_deref())?.map(|poems| {
        if text.is_empty() {
            NextCharacters::first(&poems)
        } else {
            NextCharacters::count(&poems, &text)
        }
    });
    let rows = rows(&loaded, &task, options.top as usize, in_corpus.as_ref())?;
    let mut out = io::stdout().lock();
    if options.json {
        for row in &rows {
            write_json(&mut out, row)?;
        }
        return Ok(());
    }
    writeln!(out, "rank  character  model %  corpus %  count")?;
    for row in &rows {
        writeln!(out, "{}", table_line(row))?;
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
                note(format_args!("{error}; the corpus column stays blank"));
                Ok(None)
            }
            poems => Ok(Some(poems?)),
        },
    }
}

fn rows(
    loaded: &LoadedModel,
    task: &Task,
    top: usize,
    in_corpus: Option<&NextCharacters>,
) -> Result<Vec<Row>> {
    let mut decoder = loaded.cached();
    let tokens = next_tokens(&mut *decoder, task.prompt(), top)?;
    let characters: String = loaded
        .vocabulary
        .decode(&tokens.iter().map(|next| next.token).collect::<Vec<_>>())?;
    Ok((1..)
        .zip(characters.chars().zip(&tokens))
        .map(|(rank, (character, next))| {
            let count = in_corpus.map(|next| {
                let found = next.counts.iter().find(|(c, _)| *c == character);
                found.map_or(0, |(_, count)| *count)
            });
            let occurrences = in_corpus.map_or(0, |next| next.occurrences);
            Row {
                rank,
                character,
                model: next.probability,
                corpus: count
                    .filter(|_| occurrences > 0)
                    .map(|count| count as f64 / occurrences as f64),
                count,
            }
        })
        .collect())
}

fn table_line(row: &Row) -> String {
    // A Han character is two columns wide, and so is a mark.
    let character = match row.character {
        '\n' => "⏎ ".to_owned(),
        c => escape_value(&c.to_string()),
    };
    let corpus = row
        .corpus
        .map_or(String::new(), |share| format!("{:.1}", 100.0 * share));
    let count = row.count.map_or(String::new(), |count| count.to_string());
    format!(
        "{:>4}  {character}         {:>5.1}  {corpus:>8}  {count:>5}",
        row.rank,
        100.0 * row.model
    )
    .trim_end()
    .to_owned()
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
