//! Commands that are printed run as they are printed.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use crate::work::{sample, tang};

/// The text between the first pair of backticks after `before`.
fn quoted<'a>(text: &'a str, before: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split('`').nth(1).unwrap()
}

/// Runs a command line as somebody who copies it.
fn shell(folder: &Path, line: &str) -> std::process::Output {
    let program = Path::new(env!("CARGO_BIN_EXE_tang")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    Command::new("/bin/sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Poems without the characters of the usual example.
fn other_poems(folder: &Path, name: &str) {
    let poems = sample();
    let poems = poems.lines().filter(|poem| !poem.contains(['春', '眠', '不', '觉']));
    let poems: Vec<&str> = poems.take(12).collect();
    fs::write(folder.join(name), poems.join("\n")).unwrap();
}

#[test]
fn the_example_of_a_run_is_of_its_own_characters() {
    for out in ["my run's $(touch x)", "\u{1b}[31mred\nrun", "-run", "~"] {
        let folder = TempDir::new().unwrap();
        other_poems(folder.path(), "poems");
        let flag = format!("--out={out}");
        let words = ["train", "--steps=1", "--corpus=poems", &flag];
        let ended = tang(words).current_dir(folder.path()).output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{told}");
        // A program that reads the path has it as it is.
        assert_eq!(ended.stdout, format!("{out}\n").into_bytes());
        assert!(!told.contains('\u{1b}'), "{told:?}");
        let line = quoted(&told, "done; try ");
        assert!(line.starts_with("tang acrostic ") && !line.contains('春'), "{line}");
        let output = shell(folder.path(), line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {error}");
        let poem = String::from_utf8(output.stdout).unwrap();
        let heads: String = poem.lines().filter_map(|line| line.chars().next()).collect();
        assert!(line.contains(&format!(" {heads} ")) && heads.chars().count() == 4, "{line}");
        assert!(!folder.path().join("x").exists(), "nothing else was run");
    }
}

#[test]
fn the_line_that_goes_on_with_a_run_does_so() {
    let folder = TempDir::new().unwrap();
    let (out, corpus) = ("my run's $(touch x)", "a \"b\" `touch x`;\n\u{1b}");
    other_poems(folder.path(), corpus);
    let train = ["train", "--steps=40", "--corpus", corpus, "--out", out];
    let mut train = tang(train);
    let child = train
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = folder.path().join(out).join("log.jsonl");
    while !fs::read_to_string(&log).is_ok_and(|log| log.contains("\"step\"")) {
        thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{told}");
    let (_, line) = told.split_once("go on with `").unwrap();
    let line = line.trim_end().strip_suffix('`').unwrap();
    assert!(line.contains("--resume") && !line.contains('\u{1b}'), "{line}");
    let output = shell(folder.path(), line);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {error}");
    assert_eq!(output.stdout, format!("{out}\n").into_bytes());
    assert!(!folder.path().join("x").exists(), "nothing else was run");
}
