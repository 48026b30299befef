//! `tang logits`, and models of either family.

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    model::model,
    work::{SAMPLE, fails, prints, run, tang},
};

const GOLDEN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../tang-checkpoint/tests/golden/llama-gqa-tiny");

fn logits(words: &[&str]) -> (Vec<u64>, Vec<Vec<f64>>) {
    let json: Value = serde_json::from_str(&prints(words)).unwrap();
    let row = |row: &Value| -> Vec<f64> { serde_json::from_value(row.clone()).unwrap() };
    (
        serde_json::from_value(json["tokens"].clone()).unwrap(),
        json["logits"].as_array().unwrap().iter().map(row).collect(),
    )
}

#[test]
fn a_row_for_the_newline_and_each_character() {
    let model = model();
    let (tokens, rows) = logits(&["logits", "春風", "--json", "--checkpoint", &model]);
    assert_eq!((tokens.len(), tokens[0], rows.len()), (3, 0, 3));
    let ids: Vec<String> = tokens.iter().map(u64::to_string).collect();
    let by_ids = ["logits", "--ids", &ids.join(","), "--checkpoint", &model];
    let text = prints(&by_ids);
    assert_eq!(text.lines().count(), 3);
    for (line, row) in text.lines().zip(&rows) {
        for (number, logit) in line.split(' ').zip(row) {
            assert!((number.parse::<f64>().unwrap() - logit).abs() < 1e-5);
        }
    }
}

#[test]
fn a_folder_without_vocabulary_takes_ids() {
    let (tokens, rows) = logits(&["logits", "--ids", "0,5,17", "--json", "--checkpoint", GOLDEN]);
    assert_eq!(tokens, [0, 5, 17]);
    assert!(rows.len() == 3 && rows.iter().all(|row| row.len() == 97));
    for (words, message) in [
        (["--ids", "0,97"], "token id 97 is out of range: the model has 97 tokens"),
        (["--ids", &["1"; 65].join(",")], "the text takes 65 positions"),
        (["春风", "--json"], "tokenizer.json"),
    ] {
        let words = [&["logits"], &words[..], &["--checkpoint", GOLDEN]].concat();
        fails(&words, 1, message);
    }
    fails(&["logits"], 2, "required");
}

#[test]
fn the_llama_family_trains_and_writes() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let words = "train --model minimind-4l --kv-heads 1 --context 72 --steps 2 --corpus";
    let words: Vec<&str> = words.split(' ').chain([SAMPLE, "--out", out]).collect();
    let ended = run(&mut tang(words));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    let poem = ["write", "--form", "七律", "--seed", "3", "--checkpoint", out];
    let cached = prints(&poem);
    assert_eq!(cached, prints(&[&poem[..], &["--no-cache"]].concat()));
    fails(
        &["acrostic", &"春".repeat(16), "--checkpoint", out],
        1,
        "128 characters, but the model's context holds 72",
    );
}

#[test]
fn impossible_geometries_are_refused() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let train = ["train", "--corpus", SAMPLE, "--out", out.to_str().unwrap()];
    for (flags, message) in [
        (&["--kv-heads", "2"][..], "one key/value head per query head"),
        (&["--model", "minimind-4l", "--kv-heads", "3"], "3 key/value heads"),
    ] {
        fails(&[&train, flags].concat(), 1, message);
        assert!(!out.exists(), "{message}");
    }
    // Only the poems tell that this context is too short.
    let message = fails(
        &[train.as_slice(), &["--context", "64"]].concat(),
        1,
        "and the model has 64: give it a longer context",
    );
    assert!(message.contains("--context"), "{message}");
    assert!(!out.exists());
}
