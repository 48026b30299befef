//! `tang data`: build the corpus.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use tang_corpus::{Collections, CorpusError, CorpusFolder, Statistics};

use crate::{
    input::{CORPUS_FOLDER, build_corpus},
    output::note,
    system::StopRequest,
};

/// The source of the poems, and the folder for them.
#[derive(Args)]
#[command(after_help = "Example:\n  tang data --from poems.txt --out data")]
pub struct Options {
    /// A text file of poems, the chinese-poetry package (.tgz or folder) or repository;
    /// fetched with npm if not given
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Another collection beside the Tang poems, for `tang train --preset song`
    #[arg(long, value_name = "COLLECTION", value_parser = ["song"])]
    with: Option<String>,
    /// Folder of the corpus
    #[arg(long, value_name = "DIR", default_value = CORPUS_FOLDER)]
    out: PathBuf,
}

/// Builds the corpus, if it is not there, and prints its statistics.
pub fn run(options: &Options) -> Result<()> {
    let folder = CorpusFolder::new(&options.out);
    let from = options.from.as_deref();
    let collections = match options.with {
        Some(_) => Collections::TangAndSong,
        None => Collections::Tang,
    };
    let there = folder.open().and_then(|split| Ok((folder.poems()?, !split.song.is_empty())));
    let build = |same| build_corpus(from, collections, &folder, same, &StopRequest::watch()?);
    let poems = match (from, there) {
        (None, Ok((poems, false))) if collections == Collections::TangAndSong => {
            build(Some(&poems))?.poems
        }
        (None, Ok((poems, _))) => {
            note(format_args!(
                "the corpus in {} is there already; `--from PATH` replaces it",
                options.out.display()
            ));
            poems
        }
        // A changed corpus may be the user's own work, so it is not replaced.
        (None, Err(error)) if !matches!(error, CorpusError::NotBuilt(_)) => {
            return Err(error.into());
        }
        _ => build(None)?.poems,
    };
    writeln!(io::stdout().lock(), "{}", Statistics::of(&poems))?;
    Ok(())
}
