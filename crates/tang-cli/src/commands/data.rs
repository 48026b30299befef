//! `tang data`: build the corpus.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use tang_corpus::{CorpusError, CorpusFolder, Statistics};

use crate::{
    corpus_build::{CORPUS_FOLDER, build_corpus},
    note::note,
    stop_request::StopRequest,
};

/// Where the poems come from and where they go.
#[derive(Args)]
#[command(after_help = "Example:\n  tang data --from poems.txt --out data")]
pub struct Options {
    /// A text file of poems, the chinese-poetry package (.tgz or folder) or repository;
    /// fetched with npm if not given
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Folder of the corpus
    #[arg(long, value_name = "DIR", default_value = CORPUS_FOLDER)]
    out: PathBuf,
}

/// Builds the corpus, if it is not there, and prints what it is made of.
pub fn run(options: &Options) -> Result<()> {
    let folder = CorpusFolder::new(&options.out);
    let there = match options.from {
        Some(_) => None,
        None => existing(&folder)?,
    };
    let poems = match there {
        Some(poems) => {
            note(format_args!(
                "the corpus in {} is there already; `--from PATH` replaces it",
                options.out.display()
            ));
            poems
        }
        None => build_corpus(options.from.as_deref(), &folder, &StopRequest::watch()?)?.poems,
    };
    writeln!(io::stdout().lock(), "{}", Statistics::of(&poems))?;
    Ok(())
}

/// The poems of a corpus that is there whole. One that was changed may be the user's own work, and
/// is left alone.
fn existing(folder: &CorpusFolder) -> Result<Option<Vec<String>>> {
    match folder.open().and_then(|_| folder.poems()) {
        Ok(poems) => Ok(Some(poems)),
        Err(CorpusError::NotBuilt(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
