//! Folders that hold no model, or a damaged one.

use std::fs;

use serde_json::Value;

use crate::{
    model::{argument, copied_model},
    work::{SAMPLE, fails},
};

/// All commands that open a model.
const COMMANDS: [&[&str]; 8] = [
    &["acrostic", "春眠"],
    &["continue", "春风"],
    &["write"],
    &["next", "春风"],
    &["logits", "春风"],
    &["eval", "--corpus", SAMPLE],
    &["report"],
    &["bench-cache"],
];

fn all_fail(folder: &str, wanted: &str) {
    for command in COMMANDS {
        fails(&[command, &["--checkpoint", folder]].concat(), 1, wanted);
    }
}

#[test]
fn a_missing_model_is_told_with_what_to_do() {
    all_fail("no/such/folder", "no/such/folder holds no model");
    let message = fails(
        &["bench-cache"],
        1,
        "checkpoints/tang-4l holds no model (config.json is missing): train one",
    );
    for part in ["`tang train`", "--checkpoint"] {
        assert!(message.contains(part), "{message}");
    }
    fails(&["report"], 2, "--checkpoint <DIR>");
}

#[test]
fn damaged_weights_are_told() {
    let model = copied_model();
    let weights = model.path().join("model.safetensors");
    let bytes = fs::read(&weights).unwrap();
    fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    all_fail(argument(&model), "model.safetensors: not a readable safetensors file");
    fs::write(&weights, "").unwrap();
    all_fail(argument(&model), "model.safetensors: not a readable safetensors file");
    fs::remove_file(&weights).unwrap();
    all_fail(argument(&model), "model.safetensors is missing");
}

#[test]
fn a_configuration_of_another_model_is_told() {
    let model = copied_model();
    let config = model.path().join("config.json");
    let json = fs::read_to_string(&config).unwrap();
    fs::write(&config, json.replace("\"n_layer\": 4", "\"n_layer\": 5")).unwrap();
    all_fail(argument(&model), "transformer.h.4");
    fs::write(&config, "{").unwrap();
    all_fail(argument(&model), "config.json");
}

#[test]
fn a_vocabulary_of_another_model_is_told() {
    let model = copied_model();
    let tokenizer = model.path().join("tokenizer.json");
    let original: Value = serde_json::from_slice(&fs::read(&tokenizer).unwrap()).unwrap();
    let size = original["model"]["vocab"].as_object().unwrap().len();
    let with_last = |replacement: Option<&str>| {
        let mut json = original.clone();
        let vocabulary = json["model"]["vocab"].as_object_mut().unwrap();
        vocabulary.retain(|_, id| *id != size - 1);
        if let Some(character) = replacement {
            vocabulary.insert(character.to_owned(), (size - 1).into());
        }
        fs::write(&tokenizer, json.to_string()).unwrap();
    };

    with_last(None);
    let sizes = format!("asks for {size} characters, tokenizer.json has {}", size - 1);
    all_fail(argument(&model), &sizes);
    with_last(Some("龥"));
    all_fail(argument(&model), "the weights were trained with vocabulary");
    with_last(Some("two"));
    all_fail(argument(&model), "`two`, wanted a single character");
    fs::write(&tokenizer, "[]").unwrap();
    all_fail(argument(&model), "is not a tokenizer file");
    fs::remove_file(&tokenizer).unwrap();
    all_fail(argument(&model), "tokenizer.json is missing");
}

#[test]
fn weights_that_are_no_numbers_are_told() {
    let model = copied_model();
    let weights = model.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    // The last four bytes are a number of the last tensor.
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&weights, &bytes).unwrap();
    all_fail(argument(&model), "holds infinite numbers or none");

    // Finite, and so large that the network overflows: found at the first logits.
    for number in bytes[last - 400_000..].chunks_mut(4) {
        number.copy_from_slice(&3e38_f32.to_le_bytes());
    }
    fs::write(&weights, &bytes).unwrap();
    all_fail(argument(&model), "infinite logits or NaN");
}
