//! `tang next`.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    data::gbk_file,
    model::{argument, model},
    work::{SAMPLE, fails, prints, run, sample, tang},
};

fn objects(words: &[&str]) -> Vec<Value> {
    prints(words).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_whole_vocabulary_shares_one_probability() {
    let model = model();
    let rows = objects(&[
        "next",
        "春",
        "--top",
        "100000",
        "--json",
        "--corpus",
        SAMPLE,
        "--checkpoint",
        &model,
    ]);
    let sum = |column: &str| rows.iter().map(|row| row[column].as_f64().unwrap()).sum::<f64>();
    assert!((sum("model") - 1.0).abs() < 1e-4, "{}", sum("model"));
    assert!((sum("corpus") - 1.0).abs() < 1e-9, "{}", sum("corpus"));
    assert_eq!(sum("count") as usize, sample().matches('春').count());
    assert!(rows.iter().any(|row| row["character"] == "\n"));
    for (rank, pair) in (1..).zip(rows.windows(2)) {
        assert_eq!(pair[0]["rank"], rank);
        assert!(pair[0]["model"].as_f64() >= pair[1]["model"].as_f64());
    }
    let wind = rows.iter().find(|row| row["character"] == "风").unwrap();
    assert_eq!(wind["count"], sample().matches("春风").count());
}

#[test]
fn prints_a_table() {
    let model = model();
    let folder = TempDir::new().unwrap();
    prints(&["data", "--from", SAMPLE, "--out", argument(&folder)]);
    let words = ["next", "春風", "--corpus", argument(&folder), "--checkpoint", &model];
    let table = prints(&words);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "rank  character  model %  corpus %  count");
    assert_eq!(lines.len(), 9);
    for (rank, line) in (1..).zip(&lines[1..]) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(fields.len(), 5, "{line}");
        assert_eq!(fields[0], rank.to_string());
    }
    assert_eq!(prints(&[words.as_slice(), &["--top", "3"]].concat()).lines().count(), 4);
    // The end of a poem is shown.
    let all = prints(&[words.as_slice(), &["--top", "9999"]].concat());
    assert_eq!(all.matches('⏎').count(), 1, "{all}");
}

/// As for `logits`, an empty text is the place where a poem begins.
#[test]
fn an_empty_text_is_the_beginning_of_a_poem() {
    let model = model();
    let rows = |text: &str| {
        let words = ["next", text, "--json", "--top", "3", "--corpus", SAMPLE];
        objects(&[&words[..], &["--checkpoint", &model]].concat())
    };
    let found = rows("");
    assert_eq!(rows(" \n"), found);
    let logits = prints(&["logits", "", "--json", "--checkpoint", &model]);
    let logits: Value = serde_json::from_str(&logits).unwrap();
    assert_eq!(logits["tokens"], serde_json::json!([0]));
    let logits: Vec<f64> = serde_json::from_value(logits["logits"][0].clone()).unwrap();
    let largest = logits.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    let best = found[0]["model"].as_f64().unwrap();
    assert!((best - 1.0 / sum).abs() < 1e-6, "{best} {sum}");
    let begin = |row: &Value| {
        let character = row["character"].as_str().unwrap();
        let poems = sample();
        let poems = poems.lines().filter(|poem| poem.starts_with(character));
        poems.count()
    };
    for row in &found {
        assert_eq!(row["count"], begin(row), "{row}");
        assert_eq!(row["corpus"].as_f64().unwrap(), begin(row) as f64 / 120.0);
    }
}

#[test]
fn without_a_corpus_its_columns_are_blank() {
    let model = model();
    let ended = run(&mut tang(["next", "春风", "--checkpoint", &model]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for part in ["no corpus in data", "`tang data`", "stays blank"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    for line in ended.stdout.lines().skip(1) {
        assert_eq!(line.split_whitespace().count(), 3, "{line}");
    }
    let rows = objects(&["next", "春风", "--json", "--checkpoint", &model]);
    assert!(rows.iter().all(|row| row["corpus"].is_null() && row["count"].is_null()));
}

#[test]
fn a_corpus_without_the_text_has_no_share() {
    let model = model();
    let rows = objects(&["next", "春春春", "--json", "--corpus", SAMPLE, "--checkpoint", &model]);
    assert!(rows.iter().all(|row| row["corpus"].is_null() && row["count"] == 0));
}

#[test]
fn what_cannot_be_looked_up_is_refused() {
    let model = model();
    let folder = TempDir::new().unwrap();
    let gbk = gbk_file(&folder);
    let changed = folder.path().join("changed");
    let changed = changed.to_str().unwrap();
    prints(&["data", "--from", SAMPLE, "--out", changed]);
    fs::write(format!("{changed}/tang.txt"), "").unwrap();
    for (words, code, wanted) in [
        (vec!["𠮷"], 1, "`𠮷`"),
        (vec!["春", "--top", "0"], 2, "0 is not in 1.."),
        (vec!["春", "--corpus", "no/such/folder"], 1, "cannot read no/such/folder"),
        (vec!["春", "--corpus", argument(&folder)], 1, "`tang data` builds it"),
        (vec!["春", "--corpus", changed], 1, "changed since the corpus was built"),
        (vec!["春", "--corpus", &gbk], 1, "is not UTF-8"),
    ] {
        let words = [["next", "--checkpoint", &model].as_slice(), &words].concat();
        fails(&words, code, wanted);
    }
}
