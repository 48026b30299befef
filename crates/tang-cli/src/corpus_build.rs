//! Building the corpus folder.

use std::path::Path;

use tang_corpus::{Corpus, CorpusError, CorpusFolder, Npm, Split, Step};

use crate::{note::note, progress::CorpusBars, stop_request::StopRequest};

/// The folder of the corpus, if no other is named.
pub const CORPUS_FOLDER: &str = "data";

/// Reads the poems at `from`, or fetches the published collection, and writes them and their split
/// to `folder`. A request to stop ends npm first, and does not come between the files of the corpus.
///
/// # Errors
///
/// If they cannot be had, are too few, or the folder cannot be written; a corpus that was there is then
/// as it was.
pub fn build_corpus(
    from: Option<&Path>,
    folder: &CorpusFolder,
    request: &StopRequest,
) -> Result<Corpus, CorpusError> {
    // Before what may take minutes.
    folder.check_place()?;
    let mut bars = CorpusBars::default();
    let corpus = match from {
        Some(path) => Corpus::read(path, &mut |progress| bars.show(progress))?,
        None => {
            note("fetching the npm package chinese-poetry (85 MB)");
            request.hold();
            let npm = Npm::default().until(request.came());
            Corpus::fetch(&npm, &mut |progress| {
                if progress.step != Step::Fetch {
                    request.release();
                }
                bars.show(progress);
            })?
        }
    };
    let split = Split::of(&corpus.poems)?;
    request.hold();
    folder.write(&corpus, &split)?;
    request.release();
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
