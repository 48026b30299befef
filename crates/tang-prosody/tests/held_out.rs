//! How many real poems keep the rules.

#![cfg(test)]

use std::fs;

use tang_prosody::{Form, Judging, Scores, Share, check_by};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data");

/// The scores of a file with one poem a line, by form.
fn scores(file: &str, judging: Judging) -> [Scores; 4] {
    let text = fs::read_to_string(format!("{DATA}/{file}"))
        .unwrap_or_else(|error| panic!("{file}: {error}; `tang data` makes it"));
    let mut scores: [Scores; 4] = Default::default();
    for poem in text.lines() {
        let verdict = check_by(poem, judging).unwrap();
        let row = Form::ALL.iter().position(|form| *form == verdict.form);
        scores[row.unwrap()].add(Some(&verdict));
    }
    scores
}

/// Percent with one decimal.
fn percent(share: Share) -> String {
    format!("{:.1}", 100.0 * share.rate().unwrap())
}

#[test]
#[ignore = "wants data/val.txt, which `tang data` makes"]
fn held_out_poems_score_as_documented() {
    let scores = scores("val.txt", Judging::default());
    let poems = scores.each_ref().map(|scores| scores.whole.whole);
    assert_eq!(poems, [173, 469, 624, 374]);
    let pass: usize = scores.iter().map(|scores| scores.whole.part).sum();
    assert_eq!(pass, 1_263);
    let whole = scores.each_ref().map(|scores| percent(scores.whole));
    assert_eq!(whole, ["42.2", "86.6", "75.5", "83.7"]);
    let strict = scores.each_ref().map(|scores| percent(scores.strict));
    assert_eq!(strict, ["40.5", "85.7", "73.7", "83.4"]);
}

/// Tones that are saved in the next line count as right, and not for the strict.
#[test]
#[ignore = "wants data/val.txt, which `tang data` makes"]
fn held_out_poems_score_higher_where_tones_may_be_saved() {
    let judging = Judging { saves: true, ..Judging::default() };
    let scores = scores("val.txt", judging);
    let pass: usize = scores.iter().map(|scores| scores.whole.part).sum();
    assert_eq!(pass, 1_298);
    let whole = scores.each_ref().map(|scores| percent(scores.whole));
    assert_eq!(whole, ["46.8", "86.8", "79.6", "83.7"]);
    let strict = scores.each_ref().map(|scores| percent(scores.strict));
    assert_eq!(strict, ["40.5", "85.7", "73.7", "83.4"]);
}
