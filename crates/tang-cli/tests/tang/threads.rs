//! The threads that `tang` computes with, and systems that give none.

use std::process::Command;

use tempfile::TempDir;

use crate::{
    model::model,
    work::{Ended, SAMPLE, prints, run, tang},
};

#[test]
fn the_number_of_threads_is_bounded() {
    let model = model();
    let words = ["write", "--seed", "1", "--checkpoint", &model];
    let wanted = prints(&words);
    let with = |threads: &str| run(tang(words).env("RAYON_NUM_THREADS", threads));
    for threads in ["1", "2", "0", "many", ""] {
        let ended = with(threads);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), wanted.as_str()));
        assert!(!ended.stderr.contains("RAYON"), "{}", ended.stderr);
    }
    let cores = std::thread::available_parallelism().unwrap().get();
    for threads in ["100000", "18446744073709551615"] {
        let ended = with(threads);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), wanted.as_str()));
        let note = format!(
            "RAYON_NUM_THREADS is {threads}, and {} threads compute: at most 4 a core",
            4 * cores
        );
        assert!(ended.stderr.contains(&note), "{}", ended.stderr);
    }
}

/// `tang`, where no thread can be started: none has room for its stack.
fn without_threads(words: &[&str]) -> Command {
    let mut command = tang(words);
    command.env("RUST_MIN_STACK", (1_u64 << 60).to_string());
    command
}

fn has_no_thread(ended: &Ended) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.stderr);
    for wanted in ["error: cannot start ", "raise the limit of processes (`ulimit -u`)"] {
        assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
    }
}

#[test]
fn a_system_without_threads_is_an_error() {
    let model = model();
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let checkpoint = ["--checkpoint", model.as_str()];
    for words in [
        vec!["write"],
        vec!["acrostic", "春眠不觉"],
        vec!["continue", "春眠"],
        vec!["next", "春"],
        vec!["logits", "春"],
        vec!["eval", "--corpus", SAMPLE],
        vec!["report"],
    ] {
        let words = [&words[..], &checkpoint].concat();
        has_no_thread(&run(&mut without_threads(&words)));
    }
    let start = ["train", "--corpus", SAMPLE, "--out", out];
    has_no_thread(&run(&mut without_threads(&start)));
    has_no_thread(&run(&mut without_threads(&[&start[..], &["--dry-run"]].concat())));
    for bench in ["bench-cache", "bench-decode"] {
        let words = [&[bench, "--out", out][..], &checkpoint].concat();
        has_no_thread(&run(&mut without_threads(&words)));
    }
    let data = folder.path().join("data");
    prints(&["data", "--from", SAMPLE, "--out", data.to_str().unwrap()]);
    let bench = ["bench-train", "--corpus", data.to_str().unwrap(), "--out", out];
    has_no_thread(&run(&mut without_threads(&bench)));
    assert!(!folder.path().join("out").exists());

    // A command that computes nothing needs no thread.
    let geometry = "kv-cost --layers 4 --width 128 --heads 4";
    for words in [geometry, "devices", "--help"] {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = run(&mut without_threads(&words));
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
    }
}
