//! Pipes and large files that are named as files.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    model::{argument, copied_model},
    work::{SAMPLE, fails, run, sample, tang},
};

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// How a command ends that cannot read its file; 1 of `check` says that a poem is wrong.
fn code(words: &[&str]) -> i32 {
    if words[0] == "check" { 2 } else { 1 }
}

/// Each command that reads a file, with a pipe in the place of the file that nobody writes to.
#[test]
fn a_pipe_that_nobody_writes_to_is_not_waited_for_for_ever() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("pipe");
    make_pipe(&path);
    let pipe = path.to_str().unwrap();
    let models =
        ["config.json", "tokenizer.json", "model.safetensors", "training_state.safetensors"].map(
            |name| {
                let model = copied_model();
                let file = model.path().join(name);
                fs::remove_file(&file).unwrap();
                make_pipe(&file);
                model
            },
        );
    let [config, tokenizer, weights, state] = models.each_ref().map(argument);
    let write = |model| vec!["write", "--checkpoint", model];
    let start = Instant::now();
    thread::scope(|scope| {
        for words in [
            vec!["data", "--out", "no/such/folder", "--from", pipe],
            vec!["train", "--dry-run", "--corpus", pipe],
            vec!["check", pipe],
            write(config),
            write(tokenizer),
            write(weights),
            vec!["train", "--resume", "--corpus", SAMPLE, "--out", state],
        ] {
            let code = code(&words);
            scope.spawn(move || fails(&words, code, "nobody writes to it: waited 10 s"));
        }
    });
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// As the `<(...)` of a shell gives one.
#[test]
fn a_pipe_that_is_written_to_is_read() {
    let poem = sample().lines().next().unwrap().to_owned();
    for (words, text) in [
        (vec!["check", "/dev/stdin"], poem.clone()),
        (vec!["check", "/dev/fd/0"], poem),
        (vec!["train", "--dry-run", "--corpus", "/dev/stdin"], sample()),
    ] {
        let mut cat = Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let writer = thread::spawn(move || std::io::Write::write_all(&mut input, text.as_bytes()));
        let ended = run(tang(&words).stdin(child.stdout.take().unwrap()));
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        writer.join().unwrap().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_file_too_large_is_refused_at_once() {
    let model = copied_model();
    let sparse = |path: &Path| File::create(path).unwrap().set_len(1 << 42).unwrap();
    let text = model.path().join("poems.txt");
    sparse(&text);
    let text = text.to_str().unwrap();
    let write = ["write", "--checkpoint", argument(&model)];
    let start = Instant::now();
    for words in [
        &["check", text][..],
        &["data", "--out", "no/such/folder", "--from", text],
        &["train", "--dry-run", "--corpus", text],
    ] {
        fails(words, code(words), "it has more than");
    }
    for name in ["model.safetensors", "tokenizer.json", "config.json"] {
        sparse(&model.path().join(name));
        fails(&write, 1, "it has more than");
    }
    assert!(start.elapsed() < Duration::from_secs(30));
}
