//! From raw texts to poems of strict form.

use std::{collections::HashSet, path::Path};

use tang_files::{FileKind, read_at_most};
use tang_prosody::{Form, is_han};

use crate::{
    Converter, CorpusError, LeftOut, Npm, Page, Progress, Step, Unread,
    source::{Texts, read_archive, read_folder},
};

/// The most bytes of a file: three times those of the published package.
const MAX_BYTES: u64 = 256 << 20;
/// Count of texts between two progress reports.
const REPORT_EVERY: usize = 500;

/// The collections of the chinese-poetry package that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collections {
    /// Tang poems.
    #[default]
    Tang,
    /// Tang poems, and Song poems beside them.
    TangAndSong,
}

/// The poems that the model learns from, in the order of their source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Corpus {
    /// The poems, each of a strict [`Form`], in simplified characters, no two the same.
    pub poems: Vec<String>,
    /// Counts of the texts of the source, without those of Song poems.
    pub counts: Counts,
    /// Song poems, likewise; empty unless they were asked for.
    pub song: Vec<String>,
    /// Counts of the texts of Song poems.
    pub song_counts: Counts,
    /// Texts of strict form with a character outside U+4E00 to U+9FFF: they count as irregular.
    pub rare: usize,
    /// The parts of a text file that belong to no text. Titles count as texts without a form.
    pub left_out: LeftOut,
    /// In a text file, the place where the first text without a strict form breaks it.
    pub first_unread: Option<Unread>,
}

/// Counts of the texts of a source: those neither irregular nor repeated were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Texts that were read.
    pub read: usize,
    /// Texts without a strict form.
    pub irregular: usize,
    /// Texts with one that came before in the source.
    pub repeated: usize,
}

impl Corpus {
    /// Converts each text to simplified characters and keeps it if the whole of it has a strict
    /// form ([`Form::of`]) of characters from U+4E00 to U+9FFF and it is no repeat.
    pub fn from_texts(texts: &[String], on_progress: &mut dyn FnMut(Progress)) -> Self {
        Self::keep(texts.iter().map(|text| Some(text.as_str())), on_progress)
    }

    fn from_collections(texts: &Texts, on_progress: &mut dyn FnMut(Progress)) -> Self {
        let song = Self::from_texts(&texts.song, on_progress);
        Self {
            song: song.poems,
            song_counts: song.counts,
            ..Self::from_texts(&texts.tang, on_progress)
        }
    }

    fn from_page(page: Page, on_progress: &mut dyn FnMut(Progress)) -> Self {
        let texts = page.texts.iter().map(|text| text.poem.as_deref().ok());
        let mut corpus = Self::keep(texts, on_progress);
        corpus.counts.read += page.left_out.titles.len();
        corpus.counts.irregular += page.left_out.titles.len();
        corpus.left_out = page.left_out;
        corpus.first_unread = page.texts.into_iter().find_map(|text| text.poem.err());
        corpus
    }

    /// The corpus at `path`: the npm package `chinese-poetry` as a `.tgz` of any name or unpacked, a clone of the
    /// repository of that name, or a UTF-8 text file ([`Page`]) of Tang poems. A file may be a pipe.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Io`], [`CorpusError::Archive`] or [`CorpusError::Unreadable`] with the file that cannot be
    /// read or lacks a collection, and [`CorpusError::NoPoems`] if nothing there is a regulated poem.
    pub fn read(
        path: &Path,
        collections: Collections,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, CorpusError> {
        let corpus = if path.is_dir() {
            let texts = read_folder(path, collections, on_progress)?;
            Self::from_collections(&texts, on_progress)
        } else {
            // The file is read only once, since it may be a pipe.
            let bytes = read_at_most(MAX_BYTES, path).map_err(CorpusError::io("read", path))?;
            if FileKind::of(&bytes) == Some(FileKind::GZIP) {
                let texts = read_archive(path, &bytes, collections, on_progress)?;
                Self::from_collections(&texts, on_progress)
            } else if collections == Collections::TangAndSong {
                let fault = "is a text file, and only the chinese-poetry package has Song poems: give the package or \
                             a clone of its repository";
                return Err(CorpusError::unreadable(path, fault));
            } else {
                Self::from_page(Page::of_file(path, &bytes)?, on_progress)
            }
        };
        if corpus.poems.is_empty() {
            return Err(CorpusError::NoPoems {
                path: path.to_owned(),
                read: corpus.counts.read,
                first: corpus.first_unread,
            });
        }
        Ok(corpus)
    }

    /// The corpus of the published package: 35,135 Tang poems, and 186,583 Song poems.
    ///
    /// # Errors
    ///
    /// Those of [`Npm::fetch`].
    pub fn fetch(
        npm: &Npm,
        collections: Collections,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, CorpusError> {
        let texts = npm.fetch(collections, on_progress)?;
        Ok(Self::from_collections(&texts, on_progress))
    }

    /// The poems among texts; `None` is a text that could not be read as a poem.
    fn keep<'a>(
        texts: impl ExactSizeIterator<Item = Option<&'a str>>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Self {
        let total = texts.len();
        let converter = Converter::traditional_to_simplified();
        let mut seen = HashSet::new();
        let mut corpus = Self::default();
        let counts = &mut corpus.counts;
        for text in texts {
            let poem = text.map(|text| converter.convert(text));
            match poem.filter(|poem| Form::of(poem).is_some()) {
                None => counts.irregular += 1,
                Some(poem) if has_rare_han(&poem) => {
                    counts.irregular += 1;
                    corpus.rare += 1;
                }
                Some(poem) if seen.insert(poem.clone()) => corpus.poems.push(poem),
                Some(_) => counts.repeated += 1,
            }
            counts.read += 1;
            if counts.read.is_multiple_of(REPORT_EVERY) || counts.read == total {
                on_progress(Progress {
                    step: Step::Clean,
                    done: counts.read as u64,
                    total: Some(total as u64),
                });
            }
        }
        corpus
    }
}

/// Whether a Han character is outside U+4E00 to U+9FFF, the range that the corpus keeps.
fn has_rare_han(poem: &str) -> bool {
    poem.chars().any(|c| is_han(c) && !('\u{4e00}'..='\u{9fff}').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 讌 becomes 䜩 (U+49E9): right verse, and outside the range of the corpus.
    #[test]
    fn leaves_rare_characters_out() {
        for (poem, kept) in [
            ("宴集山林遠，移舟客未還。坐來忘主客，一笑共青山。", true),
            ("讌集山林遠，移舟客未還。坐來忘主客，一笑共青山。", false),
            ("𠮷集山林遠，移舟客未還。坐來忘主客，一笑共青山。", false),
        ] {
            let corpus = Corpus::from_texts(&[poem.to_owned()], &mut |_| {});
            assert_eq!(corpus.poems.len(), usize::from(kept), "{poem}");
            assert_eq!(corpus.counts.irregular, usize::from(!kept), "{poem}");
            assert_eq!(corpus.rare, usize::from(!kept), "{poem}");
        }
    }

    #[test]
    fn keeps_regulated_poems_once_and_in_order() {
        let texts = [
            "移舟泊煙渚，日暮客愁新。野曠天低樹，江清月近人。",
            "前不见古人，后不见来者。念天地之悠悠，独怆然而涕下。",
            "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。",
            "移舟泊烟渚，日暮客愁新。野旷天低树，江清月近人。",
            "",
        ]
        .map(str::to_owned);
        let mut reports = Vec::new();
        let corpus = Corpus::from_texts(&texts, &mut |progress| reports.push(progress));
        assert_eq!(
            corpus.poems,
            [
                "移舟泊烟渚，日暮客愁新。野旷天低树，江清月近人。",
                "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
            ]
        );
        assert_eq!(corpus.counts, Counts { read: 5, irregular: 2, repeated: 1 });
        assert_eq!(reports, [Progress { step: Step::Clean, done: 5, total: Some(5) }]);
    }
}
