//! Models with more tokens than characters, and folders of other programs.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    model::{argument, copied_model, model},
    work::{fails, prints, run, tang},
};

const EMBEDDING: &str = "transformer.wte.weight";

/// Rewrites a JSON file.
fn edit(path: &Path, change: impl Fn(&mut Value)) {
    let mut json: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut json);
    fs::write(path, json.to_string()).unwrap();
}

/// The model with `rows` tokens more, that would win every draw.
fn padded(rows: usize) -> TempDir {
    let folder = copied_model();
    edit(&folder.path().join("config.json"), |json| {
        json["vocab_size"] = (json["vocab_size"].as_u64().unwrap() as usize + rows).into();
    });
    let path = folder.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let (length, rest) = bytes.split_first_chunk::<8>().unwrap();
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let mut header: Value = serde_json::from_slice(header).unwrap();
    let offset = |tensor: &Value, i: usize| tensor["data_offsets"][i].as_u64().unwrap() as usize;
    let end = offset(&header[EMBEDDING], 1);
    let width = header[EMBEDDING]["shape"][1].as_u64().unwrap() as usize;
    let new = 1e3_f32.to_le_bytes().repeat(rows * width);
    for (name, tensor) in header.as_object_mut().unwrap() {
        if name == "__metadata__" {
            continue;
        }
        let [first, last] = [0, 1].map(|i| offset(tensor, i));
        let moved = |at: usize, is_behind: bool| at + if is_behind { new.len() } else { 0 };
        tensor["data_offsets"] = json!([moved(first, first >= end), moved(last, last >= end)]);
        if name == EMBEDDING {
            let tokens = tensor["shape"][0].as_u64().unwrap() as usize;
            tensor["shape"][0] = (tokens + rows).into();
        }
    }
    let header = header.to_string();
    let length = (header.len() as u64).to_le_bytes();
    let parts = [&length[..], header.as_bytes(), &data[..end], &new, &data[end..]];
    fs::write(&path, parts.concat()).unwrap();
    folder
}

#[test]
fn tokens_without_a_character_are_never_shown_or_drawn() {
    let (plain, padded) = (model(), padded(47));
    for command in [
        &["logits", "春風", "--json"][..],
        &["logits", "--ids", "0,5,17"],
        &["next", "春", "--top", "100000"],
        &["write", "--seed", "3", "--temperature", "2"],
        &["continue", "春風", "--beams", "3"],
        &["acrostic", "春風", "--seed", "2"],
    ] {
        let of = |folder: &str| {
            let words = [command, &["--checkpoint", folder]].concat();
            let ended = run(&mut tang(words));
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            ended
        };
        let (wanted, got) = (of(&plain), of(argument(&padded)));
        assert_eq!(got.stdout, wanted.stdout, "{command:?}");
        assert!(
            got.stderr.contains("47 of the model's") && !wanted.stderr.contains("of the model's"),
            "{}",
            got.stderr
        );
    }
    let tokenizer = padded.path().join("tokenizer.json");
    edit(&tokenizer, |json| {
        let size = json["model"]["vocab"].as_object().unwrap().len();
        let tokens = json["added_tokens"].as_array_mut().unwrap();
        tokens.push(json!({"id": size, "content": "<pad>", "special": true}));
    });
    let words = ["next", "春", "--checkpoint", argument(&padded)];
    assert_eq!(prints(&words), prints(&["next", "春", "--checkpoint", &plain]));
    edit(&tokenizer, |json| {
        json["model"]["vocab"]["龥"] = json["added_tokens"][1]["id"].take();
        json["added_tokens"].as_array_mut().unwrap().pop();
    });
    fails(&words, 1, "holds files of two models");
}

#[test]
fn weights_of_another_program_are_told_with_what_to_do() {
    let folder = copied_model();
    let weights = folder.path().join("model.safetensors");
    fs::rename(&weights, folder.path().join("pytorch_model.bin")).unwrap();
    let words = ["next", "春", "--checkpoint", argument(&folder)];
    fails(&words, 1, "`model.save_pretrained(folder, safe_serialization=True)`");
}

#[test]
fn a_field_that_changes_the_logits_is_refused_on_one_line() {
    let folder = copied_model();
    let config = folder.path().join("config.json");
    let words = ["next", "春", "--checkpoint", argument(&folder)];
    for (key, value, wanted) in [
        ("logit_scale", json!(0.5), "`logit_scale`: 0.5, which may"),
        ("a\u{1b}[31m\n", json!(7), r"`a\u{1b}[31m\u{a}`: 7"),
        ("model_type", json!("x\u{200b}\n"), r"model_type `x\u{200b}\u{a}`"),
    ] {
        let before = fs::read(&config).unwrap();
        edit(&config, |json| json[key] = value.clone());
        let ended = run(&mut tang(words));
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
        assert!(!ended.stderr.contains("again"), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        fs::write(&config, before).unwrap();
    }
    // Fields that only say how a model was made are ignored, and so is a byte order mark.
    edit(&config, |json| {
        json["_name_or_path"] = json!("gpt2");
        json["transformers_version"] = json!("4.2.0");
        json.as_object_mut().unwrap().remove("activation_function");
    });
    for file in ["config.json", "tokenizer.json"] {
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("\u{feff}{text}")).unwrap();
    }
    let plain = model();
    assert_eq!(prints(&words), prints(&["next", "春", "--checkpoint", &plain]));
}
