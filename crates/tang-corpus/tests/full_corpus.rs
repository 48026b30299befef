//! The published collection gives exactly the corpus that the documentation describes.

#![cfg(test)]

use std::path::Path;

use tang_corpus::{
    Collections, Corpus, CorpusFolder, Counts, NextCharacters, Npm, SongLeftOut, Split, Statistics,
};
use tang_files::sha256_hex;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data");

fn file_sha256(name: &str) -> String {
    sha256_hex(std::fs::read(Path::new(DATA).join(name)).unwrap())
}

/// Checks the corpus in `data/`, and fetches it there first if it is missing.
#[test]
#[ignore = "fetches 85 MB with npm unless data/ has the corpus"]
fn corpus_has_the_documented_figures() {
    let folder = CorpusFolder::new(DATA);
    if !folder.exists() {
        let corpus = Corpus::fetch(&Npm::default(), Collections::TangAndSong, &mut |_| {}).unwrap();
        assert_eq!(corpus.counts, Counts { read: 57_607, irregular: 21_867, repeated: 605 });
        assert_eq!(corpus.song_counts, Counts { read: 254_248, irregular: 67_057, repeated: 608 });
        let mut split = Split::of(&corpus.poems).unwrap();
        let left_out = split.add_song(&corpus.song);
        assert_eq!(left_out, SongLeftOut { unknown: 26_528, in_tang: 423, in_validation: 213 });
        folder.write(&corpus, &split).unwrap();
    }

    let poems = folder.poems().unwrap();
    let split = folder.open().unwrap();
    let tang = Split { song: Vec::new(), ..split.clone() };
    assert!(tang == Split::of(&poems).unwrap());
    if split.song.is_empty() {
        eprintln!("SKIPPED the Song poems: data/ was built without them");
    } else {
        let song = Statistics::of(&split.song);
        assert_eq!(song.forms.map(|row| row.poems), [11_819, 63_972, 37_481, 46_147]);
        assert_eq!(
            (split.song.len(), Statistics::of(&split.song).characters()),
            (159_419, 7_242_675)
        );
        assert_eq!(
            file_sha256("song.txt"),
            "28aefdafed8e1ff3b94bba7770b2f932f67ee948f31e6fe16aff58ff87340d84"
        );
    }
    assert_eq!((split.train.len(), split.validation.len()), (33_495, 1_640));
    assert_eq!(Statistics::of(&split.train).characters(), 1_518_223);
    assert_eq!(Statistics::of(&split.validation).characters(), 74_688);
    assert_eq!(
        ["tang.txt", "train.txt", "val.txt"].map(file_sha256),
        [
            "f8c1a3cb95d5fdd46b09e0125b647254cd1bc0d859bd7cb73cab85354f99581e",
            "979db4053d2bc31e8dcdc39b9809d2a907c19d2fe01d3c39ab39b573bd150142",
            "9a303b1f1ca07dc73a06a17792c8b10b2d4b73a8c3589f3e3361958ab9a60a9e",
        ]
    );

    let statistics = Statistics::of(&poems);
    assert_eq!(statistics.forms.map(|row| row.poems), [3_656, 10_087, 13_865, 7_527]);
    assert_eq!(statistics.poems(), 35_135);
    assert_eq!(statistics.vocabulary, 6_289);

    let next = NextCharacters::count(&poems, "春风");
    assert_eq!(next.occurrences, 797);
    assert_eq!(next.counts[0], ('。', 111));
}
