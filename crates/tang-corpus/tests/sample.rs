//! `data/sample.txt`: the poems with which everything can be tried offline.

#![cfg(test)]

use std::path::Path;

use tang_corpus::{Collections, Corpus, Split, Statistics};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/sample.txt");
const TANG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/tang.txt");

#[test]
fn sample_is_clean_and_has_all_forms() {
    let text = std::fs::read_to_string(SAMPLE).unwrap();
    let corpus = Corpus::read(Path::new(SAMPLE), Collections::Tang, &mut |_| {}).unwrap();
    assert_eq!(corpus.poems.join("\n") + "\n", text);
    for row in Statistics::of(&corpus.poems).forms {
        assert!(row.poems >= 20, "{row:?}");
    }
    let split = Split::of(&corpus.poems).unwrap();
    assert!(split.validation.len() >= 5);
}

#[test]
#[ignore = "needs the whole corpus in data/"]
fn sample_is_part_of_the_corpus() {
    let tang = std::fs::read_to_string(TANG).unwrap();
    for poem in std::fs::read_to_string(SAMPLE).unwrap().lines() {
        assert!(tang.lines().any(|line| line == poem), "{poem}");
    }
}
