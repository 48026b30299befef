//! Invisible characters of arguments and files are printed as code points, on one line.

use std::fs;

use tang_tokenizer::Vocabulary;
use tempfile::TempDir;

use crate::{
    model::{argument, copied_model, model},
    work::{Ended, SAMPLE, run, tang},
};

/// Whether a terminal would show less than all of it, or take it for a command.
fn is_hidden(c: char) -> bool {
    let hidden = "\u{200b}\u{feff}\u{202e}\u{2066}\u{e000}\u{fe0f}\u{3164}\u{a0}";
    (c.is_control() && c != '\n') || hidden.contains(c)
}

fn shows(ended: &Ended, wanted: &str) {
    assert!(ended.stderr.contains(wanted), "{wanted}: {}", ended.stderr);
    assert!(!ended.stderr.contains(is_hidden), "{:?}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_text_that_is_typed_is_escaped() {
    let model = model();
    for (character, wanted) in [
        ("\u{200b}", r"`\u{200b}`"),
        ("\u{feff}", r"`\u{feff}`"),
        ("\u{1b}", r"`\u{1b}`"),
        ("\u{202e}", r"`\u{202e}`"),
        ("\u{7}", r"`\u{7}`"),
        ("\u{9b}", r"`\u{9b}`"),
        ("\u{e000}", r"`\u{e000}`"),
        ("\u{fe0f}", r"`\u{fe0f}`"),
        ("\u{3164}", r"`\u{3164}`"),
    ] {
        for text in [format!("春{character}眠"), format!("{character}春")] {
            for command in ["acrostic", "continue", "next", "logits"] {
                let ended = run(&mut tang([command, &text, "--checkpoint", &model]));
                assert_eq!(ended.code, Some(1), "{command} {text:?}");
                shows(&ended, wanted);
                assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
            }
        }
        let template = format!("春{character}***，");
        let words = ["write", "--template", &template, "--checkpoint", &model];
        shows(&run(&mut tang(words)), wanted);
    }
}

#[test]
fn a_path_is_told_on_one_line() {
    let path = "no/\u{1b}[31mred\nfolder\u{202e}";
    let shown = r"no/\u{1b}[31mred\u{a}folder\u{202e}";
    for words in [
        &["write", "--checkpoint", path][..],
        &["check", path],
        &["data", "--from", path],
        &["train", "--corpus", path, "--out", "no/run"],
        &["train", "--resume", "--out", path, "--corpus", SAMPLE],
        &["next", "春", "--corpus", path, "--checkpoint", &model()],
        &["eval", "--corpus", path],
        &["bench-train", "--corpus", path],
        &["bench-cache", "--checkpoint", path],
        &["bench-decode", "--checkpoint", path],
        &["report", "--checkpoint", path],
    ] {
        let ended = run(&mut tang(words));
        shows(&ended, shown);
        let told = ended.stderr.lines().filter(|line| line.contains(shown));
        assert_eq!(told.count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn what_a_file_says_is_escaped() {
    let nasty = r"\u001b[2J\u202e\u200b";
    let shown = r"\u{1b}[2J\u{202e}\u{200b}";
    for (file, from) in [("config.json", "\"gpt2\""), ("tokenizer.json", "\"BPE\"")] {
        let model = copied_model();
        let path = model.path().join(file);
        let json = fs::read_to_string(&path).unwrap();
        assert!(json.contains(from), "{file}");
        fs::write(&path, json.replace(from, &format!("\"{nasty}\""))).unwrap();
        shows(&run(&mut tang(["write", "--checkpoint", argument(&model)])), shown);
    }
    // The name of a tensor.
    let model = copied_model();
    let path = model.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let name = b"transformer.ln_f.bias";
    let at = bytes.windows(name.len()).position(|part| part == name);
    let at = at.unwrap();
    bytes[at..at + 6].copy_from_slice(br"\u001b");
    fs::write(&path, bytes).unwrap();
    let ended = run(&mut tang(["write", "--checkpoint", argument(&model)]));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(!ended.stderr.contains(is_hidden), "{:?}", ended.stderr);
}

/// A vocabulary may hold anything, and a model may write it.
#[test]
fn what_a_model_writes_is_escaped() {
    let golden =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tang-checkpoint/tests/golden/llama-gqa-tiny");
    let folder = TempDir::new().unwrap();
    for file in ["config.json", "model.safetensors"] {
        fs::copy(format!("{golden}/{file}"), folder.path().join(file)).unwrap();
    }
    // With the newline and two marks, 97 as in that model.
    let controls = ('\u{1}'..='\u{1f}').filter(|c| *c != '\n');
    let others = "\u{200b}\u{202e}\u{feff}\u{e000}\u{2066}\u{fe0f}";
    let characters: String =
        controls.chain('A'..='Z').chain('\u{80}'..='\u{9f}').chain(others.chars()).collect();
    let vocabulary = Vocabulary::from_texts([characters.as_str()]);
    assert_eq!(vocabulary.len(), 97);
    vocabulary.save(folder.path()).unwrap();
    for words in [
        &["continue", "A", "--seed=1"][..],
        &["continue", "A", "--seed=1", "--stream"],
        &["continue", "A", "--seed=1", "--json"],
        &["continue", "A", "--beams=2"],
        &["next", "A", "--top=97"],
        &["next", "A", "--top=97", "--json"],
    ] {
        let ended = run(tang(words).args(["--checkpoint", argument(&folder)]));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(is_hidden), "{words:?}: {text:?}");
        }
        assert!(ended.stdout.contains("\\u"), "{words:?}: {}", ended.stdout);
    }
}

#[test]
fn a_judged_text_is_escaped() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("poems.txt");
    fs::write(&path, "春\u{1b}[2J\u{202e}眠\u{fe0f}\u{9b}").unwrap();
    for flags in [&[][..], &["--json"]] {
        let ended = run(tang(["check"]).arg(&path).args(flags));
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(!ended.stdout.contains(is_hidden), "{:?}", ended.stdout);
        assert!(ended.stdout.contains("202e"), "{}", ended.stdout);
    }
}

#[test]
fn a_long_text_is_shortened() {
    let long = "龘".repeat(30_000);
    for words in [
        &["write", "--form", &long][..],
        &["write", &long],
        &["write", "--rhyme", &long],
        &["kv-cost", "--memory", &long],
        &["check", &long],
    ] {
        let ended = run(&mut tang(words));
        shows(&ended, "龘龘…龘龘");
        assert!(ended.stderr.len() < 15_000, "{}", ended.stderr.len());
    }
}
