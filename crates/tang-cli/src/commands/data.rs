//! `tang data`: build the corpus.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use tang_corpus::{CorpusError, CorpusFolder, Statistics};

use crate::{
    input::corpus_build::{CORPUS_FOLDER, build_corpus},
    output::print::note,
    system::stop_request::StopRequest,
};

/// The source of the poems, and the folder for them.
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

/// Builds the corpus, if it is not there, and prints its statistics.
pub fn run(options: &Options) -> Result<()> {
    let folder = CorpusFolder::new(&options.out);
    let from = options.from.as_deref();
    let there = if from.is_none() {
        existing(&folder)?
    } else {
        None
    };
    let poems = if let Some(poems) = there {
        note(format_args!(
            "the corpus in {} is there already; `--from PATH` replaces it",
            options.out.display()
        ));
        poems
    } else {
        build_corpus(from, &folder, &StopRequest::watch()?)?.poems
    };
    writeln!(io::stdout().lock(), "{}", Statistics::of(&poems))?;
    Ok(())
}

/// The poems of a complete corpus. One that was changed may be the user's own work: an error.
fn existing(folder: &CorpusFolder) -> Result<Option<Vec<String>>> {
    match folder.open().and_then(|_| folder.poems()) {
        Ok(poems) => Ok(Some(poems)),
        Err(CorpusError::NotBuilt { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
