//! Building the corpus folder.

use std::path::Path;

use anyhow::{Result, ensure};
use tang_corpus::{Collections, Corpus, CorpusError, CorpusFolder, Npm, SongLeftOut, Split, Step};

use crate::{
    input::left_out,
    output::{CorpusBars, note},
    system::StopRequest,
};

/// The default folder of the corpus.
pub const CORPUS_FOLDER: &str = "data";

/// Reads the poems at `from`, or fetches the published package, and writes them and their split
/// to `folder`. A request to stop ends npm, but waits while the files of the corpus are written.
/// After an error, an older corpus is unchanged.
///
/// # Errors
///
/// Also if the poems of an older corpus are given as `same` and the Tang poems are others.
pub fn build_corpus(
    from: Option<&Path>,
    collections: Collections,
    folder: &CorpusFolder,
    same: Option<&[String]>,
    request: &StopRequest,
) -> Result<Corpus> {
    // The folder is checked before the download, which may take minutes.
    folder.check_place()?;
    let mut bars = CorpusBars::new();
    let corpus = match from {
        Some(path) => Corpus::read(path, collections, &mut |progress| bars.show(progress))?,
        None => {
            note("fetching the npm package chinese-poetry (85 MB)");
            request.hold(false);
            let npm = Npm::default().until(request.came());
            Corpus::fetch(&npm, collections, &mut |progress| {
                if progress.step != Step::Fetch {
                    request.release();
                }
                bars.show(progress);
            })?
        }
    };
    ensure!(
        same.is_none_or(|poems| poems == corpus.poems),
        "the corpus in the folder has other Tang poems than the package, so its Song poems do not fit: \
         name another folder with --out"
    );
    let mut split = Split::of(&corpus.poems)?;
    let left_out = split.add_song(&corpus.song);
    request.hold(false);
    folder.write(&corpus, &split)?;
    request.release();
    drop(bars);
    note_kept(&corpus);
    if collections == Collections::TangAndSong {
        note_song(&corpus, &split, left_out);
    }
    Ok(corpus)
}

/// Notes the counts of Song poems that were kept and left out.
fn note_song(corpus: &Corpus, split: &Split, left_out: SongLeftOut) {
    let counts = corpus.song_counts;
    note(format_args!(
        "Song: kept {} of {} texts: {} have another form, {} are repeats, {} have a character that no Tang poem has, \
         {} are Tang poems, {} share a line with a validation poem",
        split.song.len(),
        counts.read,
        counts.irregular,
        counts.repeated,
        left_out.unknown,
        left_out.in_tang,
        left_out.in_validation
    ));
}

/// Reads the poems of a file, and notes how many were not kept.
pub fn read_corpus(path: &Path) -> Result<Corpus, CorpusError> {
    let mut bars = CorpusBars::new();
    let corpus = Corpus::read(path, Collections::Tang, &mut |progress| bars.show(progress))?;
    drop(bars);
    if corpus.poems.len() < corpus.counts.read || !corpus.left_out.is_empty() {
        note_kept(&corpus);
    }
    Ok(corpus)
}

/// The split of a corpus folder, or of the poems in a file.
pub fn open_split(path: &Path) -> Result<Split, CorpusError> {
    if path.is_dir() {
        CorpusFolder::new(path).open()
    } else {
        Split::of(&read_corpus(path)?.poems)
    }
}

/// Notes the counts of texts that were kept and left out.
fn note_kept(corpus: &Corpus) {
    let counts = corpus.counts;
    let mut text = format!(
        "kept {} of {} texts: {} have another form, {} are repeats",
        corpus.poems.len(),
        counts.read,
        counts.irregular,
        counts.repeated
    );
    if corpus.rare > 0 {
        text +=
            &format!("; {} of right form have characters outside U+4E00 to U+9FFF", corpus.rare);
    }
    if let Some(first) = &corpus.first_unread {
        text += &format!("; the first without a form: {first}");
    }
    if !corpus.left_out.is_empty() {
        text += &format!("; left out: {}", left_out(&corpus.left_out));
    }
    note(text);
}
