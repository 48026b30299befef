//! A model with a long context takes memory for what is asked of it, and says what does not fit.

use std::{path::Path, process::Command};

use tempfile::TempDir;

use crate::work::{Ended, SAMPLE, run, tang};

/// A model with as many positions as there can be: its cache takes 32 MiB a poem, filled.
fn long_model() -> TempDir {
    let folder = TempDir::new().unwrap();
    let words = ["train", "--steps", "1", "--context", "8192", "--corpus", SAMPLE];
    let mut train = tang(words);
    train.arg("--out").arg(folder.path().join("long"));
    let ended = run(&mut train);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    folder
}

/// `tang` in this folder, with an address space of this count of MiB.
fn within(folder: &Path, mebibytes: usize, words: &[&str]) -> Ended {
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {}; exec \"$0\" \"$@\"", mebibytes << 10))
        .arg(env!("CARGO_BIN_EXE_tang"))
        .args(words)
        .args(["--checkpoint", "long"])
        .current_dir(folder)
        .env("RAYON_NUM_THREADS", "2");
    run(&mut command)
}

#[test]
fn poems_take_the_memory_of_poems() {
    let model = long_model();
    for (words, poems) in [
        // The whole context would take 2 GiB each time.
        (&["write", "--form", "五绝", "-n", "64", "--seed", "1"][..], 64),
        (&["write", "--form", "七律", "--best-of", "64", "--seed", "1"], 1),
        (&["write", "--form", "五绝", "--beams", "64", "-n", "3"], 3),
        (&["continue", "春风", "-n", "64", "--max-new-tokens", "30"], 64),
        (&["acrostic", "春眠不觉", "-n", "200", "--seed", "1"], 200),
    ] {
        let ended = within(model.path(), 400, &[words, &["--json"]].concat());
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        assert_eq!(ended.stdout.lines().count(), poems, "{words:?}");
    }
}

#[test]
fn work_that_does_not_fit_is_refused_with_its_size() {
    let model = long_model();
    let long: String = "春风".repeat(4000);
    for (words, mebibytes, texts) in [
        (
            &["write", "--form", "五绝", "--beams", "1024"][..],
            200,
            "1024 texts of 32 characters take 134217728 bytes",
        ),
        (
            &["continue", &long, "--beams", "1024"],
            4000,
            "1024 texts of 8016 characters take 33621540864 bytes",
        ),
        (
            &["continue", &long, "-n", "64"],
            1000,
            "64 texts of 8016 characters take 2101346304 bytes",
        ),
    ] {
        let ended = within(model.path(), mebibytes, words);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
        for part in [texts, "write fewer at once"] {
            assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
        }
    }
}
