//! Building the corpus folder.

use std::path::Path;

use tang_corpus::{Corpus, CorpusError, CorpusFolder, Npm, Split};

use crate::{note::note, progress::CorpusBars};

/// The folder of the corpus, if no other is named.
pub const CORPUS_FOLDER: &str = "data";

/// Reads the poems at `from`, or fetches the published collection, and writes them and their split
/// to `folder`.
///
/// # Errors
///
/// If they cannot be had, are too few, or the folder cannot be written; it is then as it was.
pub fn build_corpus(from: Option<&Path>, folder: &CorpusFolder) -> Result<Corpus, CorpusError> {
    // Before what may take minutes.
    folder.check_place()?;
    let mut bars = CorpusBars::default();
    let mut show = |progress| bars.show(progress);
    let corpus = match from {
        Some(path) => Corpus::read(path, &mut show)?,
        None => {
            note("fetching the npm package chinese-poetry (85 MB)");
            Corpus::fetch(&Npm::default(), &mut show)?
        }
    };
    folder.write(&corpus, &Split::of(&corpus.poems)?)?;
    drop(bars);
    let counts = corpus.counts;
    note(format_args!(
        "kept {} of {} texts: {} have another form, {} are repeats",
        corpus.poems.len(),
        counts.read,
        counts.irregular,
        counts.repeated
    ));
    Ok(corpus)
}
