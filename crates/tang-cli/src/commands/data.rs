//! `tang data`: build the corpus.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use tang_corpus::{CorpusError, CorpusFolder, Statistics};

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
    /// Folder of the corpus
    #[arg(long, value_name = "DIR", default_value = CORPUS_FOLDER)]
    out: PathBuf,
}

/// Builds the corpus, if it is not there, and prints its statistics.
pub fn run(options: &Options) -> Result<()> {
    let folder = CorpusFolder::new(&options.out);
    let from = options.from.as_deref();
    let poems = match (from, folder.open().and_then(|_| folder.poems())) {
        (None, Ok(poems)) => {
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
        _ => build_corpus(from, &folder, &StopRequest::watch()?)?.poems,
    };
    writeln!(io::stdout().lock(), "{}", Statistics::of(&poems))?;
    Ok(())
}
