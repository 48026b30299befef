//! The saved vocabulary: what it looks like, and how damage to it is reported.

#![cfg(test)]

use std::{fs, path::Path};

use serde_json::{Value, json};
use tang_tokenizer::{TOKENIZER_CONFIG_FILE, TOKENIZER_FILE, TokenizerError, Vocabulary};

fn saved() -> (tempfile::TempDir, Vocabulary) {
    let vocabulary = Vocabulary::from_texts(["天地玄黄，", "宇宙洪荒。"]);
    let folder = tempfile::tempdir().unwrap();
    vocabulary.save(&folder.path().join("new/folder")).unwrap();
    (folder, vocabulary)
}

#[test]
fn loads_what_it_saved() {
    let (folder, vocabulary) = saved();
    let folder = folder.path().join("new/folder");
    assert_eq!(Vocabulary::load(&folder).unwrap(), vocabulary);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn saves_the_bytes_that_it_loaded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checkpoints/tang-4l");
    let copy = tempfile::tempdir().unwrap();
    let vocabulary = Vocabulary::load(&folder).unwrap();
    vocabulary.save(copy.path()).unwrap();
    for name in [TOKENIZER_FILE, TOKENIZER_CONFIG_FILE] {
        let read = |folder: &Path| fs::read(folder.join(name)).unwrap();
        assert!(read(copy.path()) == read(&folder), "{name}");
    }
}

#[test]
fn writes_the_tokenizers_format_in_id_order() {
    let (folder, _) = saved();
    let folder = folder.path().join("new/folder");
    let text = fs::read_to_string(folder.join(TOKENIZER_FILE)).unwrap();
    assert!(
        text.contains("\"\\n\": 0,\n      \"，\": 1,\n      \"。\": 2,\n      \"地\": 3,\n"),
        "{text}"
    );
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["decoder"], json!({"type": "Fuse"}));
    assert_eq!(
        file["added_tokens"],
        json!([{
            "id": 0, "content": "\n", "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false,
        }])
    );
    for null in ["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor"] {
        assert_eq!(file.get(null), Some(&Value::Null), "{null}");
    }
    assert_eq!(file["model"]["type"], "BPE");
    assert_eq!(file["model"]["merges"], json!([]));
    assert_eq!(file["model"]["vocab"]["黄"], 10);

    let config = fs::read_to_string(folder.join(TOKENIZER_CONFIG_FILE)).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&config).unwrap(),
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "\n",
            "eos_token": "\n", "clean_up_tokenization_spaces": false,
        })
    );
}

/// The error of loading a file with this text as its `vocab`.
fn damage(vocab: &str) -> String {
    let text = format!(r#"{{"model": {{"type": "BPE", "vocab": {vocab}, "merges": []}}}}"#);
    match load_text(&text) {
        Err(TokenizerError::Damaged { damage, .. }) => damage,
        other => panic!("{other:?}"),
    }
}

fn load_text(text: &str) -> Result<Vocabulary, TokenizerError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(TOKENIZER_FILE), text).unwrap();
    Vocabulary::load(folder.path())
}

#[test]
fn each_damage_has_its_own_error() {
    assert_eq!(
        damage(r#"{"\n": 0, "，": 1, "。": 2, "天地": 3}"#),
        "token 3 is `天地`, wanted a single character"
    );
    assert_eq!(
        damage(r#"{"\n": 0, "，": 1, "。": 2, "天": 3, "天": 4}"#),
        "`天` has the ids 3 and 4, wanted one"
    );
    assert_eq!(
        damage(r#"{"\n": 0, "，": 1, "。": 2, "地": 3, "天": 3}"#),
        "id 3 stands for two characters, `地` and `天`, wanted one"
    );
    assert_eq!(
        damage(r#"{"\n": 0, "，": 1, "。": 2, "天": 4}"#),
        "id 3 is missing, wanted 0, 1, 2 and so on without a gap"
    );
    assert_eq!(damage(r#"{"，": 0, "\n": 1, "。": 2}"#), "id 0 is `，`, wanted the newline");
    assert_eq!(
        damage(r#"{"\n": 0, "。": 1, "，": 2, "天": 3, "地": 4}"#),
        "id 1 is `。`, wanted `，`: ids 0 to 2 are the newline, `，` and `。`"
    );
    assert_eq!(damage("{}"), "id 0 is missing, wanted 0, 1, 2 and so on without a gap");
}

#[test]
fn other_models_are_refused() {
    for (text, wanted) in [
        (
            r#"{"model": {"type": "Unigram", "vocab": {}, "merges": []}}"#,
            "its model is Unigram with 0 merges, wanted BPE with 0 merges",
        ),
        (
            r#"{"model": {"type": "BPE", "vocab": {}, "merges": ["a b"]}}"#,
            "its model is BPE with 1 merges, wanted BPE with 0 merges",
        ),
        // Only BPE has merges.
        (
            r###"{"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "##s": 1}}}"###,
            "its model is WordPiece with 0 merges, wanted BPE with 0 merges",
        ),
    ] {
        let message = load_text(text).unwrap_err().to_string();
        assert!(message.ends_with(wanted), "{message}");
    }
}

#[test]
fn what_is_no_tokenizer_file_names_the_file() {
    for text in ["", "{", "{}", r#"{"model": {"type": "BPE", "vocab": []}}"#] {
        let error = load_text(text).unwrap_err();
        assert!(matches!(error, TokenizerError::Json { .. }), "{error:?}");
        assert!(error.to_string().contains(TOKENIZER_FILE), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let wide: Vec<u8> =
        "\u{feff}{\"model\": {}}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, word) in [
        (wide.as_slice(), "iconv -f UTF-16 "),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"\x1f\x8b\x08", "gzip -dc"),
    ] {
        std::fs::write(folder.path().join(TOKENIZER_FILE), bytes).unwrap();
        let error = Vocabulary::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains(TOKENIZER_FILE), "{error}");
    }
    std::fs::remove_file(folder.path().join(TOKENIZER_FILE)).unwrap();
    let error = Vocabulary::load(folder.path()).unwrap_err();
    assert!(matches!(error, TokenizerError::Io { action: "read", .. }), "{error:?}");
}

#[test]
fn ids_of_a_file_stay_in_whatever_order() {
    let vocab = r#"{"龙": 3, "\n": 0, "一": 5, "，": 1, "A": 4, "。": 2}"#;
    let text = format!(r#"{{"model": {{"type": "BPE", "vocab": {vocab}, "merges": []}}}}"#);
    for text in [text.clone(), format!("\u{feff}{text}")] {
        let vocabulary = load_text(&text).unwrap();
        assert_eq!(vocabulary.len(), 6);
        assert_eq!(vocabulary.encode("\n龙A一。").unwrap(), [0, 3, 4, 5, 2]);
        assert_eq!(vocabulary.decode(&[3, 5, 1]).unwrap(), "龙一，");
        let folder = tempfile::tempdir().unwrap();
        vocabulary.save(folder.path()).unwrap();
        assert_eq!(Vocabulary::load(folder.path()).unwrap(), vocabulary);
    }
}

/// Loads a file with six tokens, these added ones, and this at the end of `vocab`.
fn with_added(added: &Value, end: &str) -> Result<Vocabulary, TokenizerError> {
    let vocab = format!(r#"{{"\n": 0, "，": 1, "。": 2, "天": 3, "地": 4, "<": 5{end}}}"#);
    load_text(&format!(
        r#"{{"added_tokens": {added}, "model": {{"type": "BPE", "vocab": {vocab}, "merges": []}}}}"#
    ))
}

#[test]
fn added_tokens_are_counted_where_they_do_no_harm() {
    let newline = json!({"id": 0, "content": "\n", "special": true});
    let pad = json!({"id": 6, "content": "<pad>", "special": true});
    let size = |added: Value, end: &str| with_added(&added, end).map(|v| v.len());
    assert_eq!(size(json!([newline]), "").unwrap(), 6);
    // Behind all characters, alone or in the vocabulary as well, next to them or not.
    assert_eq!(size(json!([newline, pad]), "").unwrap(), 6);
    assert_eq!(size(json!([pad]), r#", "<pad>": 6"#).unwrap(), 6);
    assert_eq!(size(json!([{"id": 99, "content": "<s>"}]), "").unwrap(), 6);
    // One character is a character, wherever it is kept.
    let seventh = json!([{"id": 6, "content": "黄"}]);
    assert_eq!(with_added(&seventh, "").unwrap().id('黄'), Some(6));

    for (added, end, word) in [
        (json!([]), r#", "<pad>": 6"#, "token 6 is `<pad>`"),
        (json!([pad]), r#", "黄": 7"#, "token 6 is `<pad>`"),
        (json!([{"id": 6, "content": "天地"}]), "", "token 6 is `天地`"),
        (json!([{"id": 3, "content": "<s>"}]), "", "token 3 is `<s>`"),
        (json!([{"id": 3, "content": "黄"}]), "", "id 3 stands for two"),
        (json!([{"id": 6, "content": "天"}]), "", "ids 3 and 6"),
        (json!([{"id": 8, "content": "黄"}]), "", "id 6 is missing"),
        (json!([{"id": 6, "content": ""}]), "", "token 6 is ``"),
    ] {
        let message = with_added(&added, end).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn what_is_not_seen_is_shown_as_a_code_point() {
    for (vocab, wanted) in [
        (r#"{"\u200b\u001b[31m": 3}"#, r"`\u{200b}\u{1b}[31m`"),
        (r#"{"\u200b": 0}"#, r"id 0 is `\u{200b}`"),
        (r#"{"\ufeff": 0, "a": 0}"#, r"`\u{feff}` and `a`"),
        (r#"{"\t": 0, "\t": 1}"#, r"`\u{9}` has the ids"),
        (r#"{"\n": 0, "\u001b": 1}"#, r"id 1 is `\u{1b}`"),
    ] {
        let message = damage(vocab).to_string();
        assert!(message.contains(wanted), "{message}");
    }
    let long = damage(&format!(r#"{{"{}": 3}}"#, "天".repeat(100_000)));
    assert!(long.to_string().chars().count() < 300);
    let kind = format!(
        r#"{{"model": {{"type": "{}\n", "vocab": {{}}, "merges": []}}}}"#,
        "x".repeat(5000)
    );
    let message = load_text(&kind).unwrap_err().to_string();
    assert!(message.contains(r"\u{a} with") && message.len() < 600, "{message}");
}
