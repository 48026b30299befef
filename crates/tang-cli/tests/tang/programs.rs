//! No command runs a program that a folder or its owner names.

use std::{env, fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    model::model,
    work::{Ended, SAMPLE, prints, run, tang},
};

/// A folder whose owner would have others run his programs: each writes that it ran.
fn trap() -> TempDir {
    let folder = TempDir::new().unwrap();
    let ran = folder.path().join("ran");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", ran.display());
    for name in [
        "git",
        "python",
        "python3",
        "npm",
        ".venv-hf/bin/python",
        "scripts/torch_peer.py",
        "scripts/torch_decode_peer.py",
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// Runs `tang` in the folder, with its programs first on the path and as git's monitor of files.
fn run_in(folder: &Path, words: &[&str]) -> Ended {
    let path = env::var("PATH").unwrap_or_default();
    let mut command = tang(words);
    command
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.fsmonitor")
        .env("GIT_CONFIG_VALUE_0", folder.join("git"));
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
    let ran = fs::read_to_string(folder.join("ran")).unwrap_or_default();
    assert_eq!(ran, "", "{words:?}");
    ended
}

#[test]
fn a_bench_runs_no_program_that_nobody_asked_for() {
    let (trap, model) = (trap(), model());
    let corpus = trap.path().join("corpus");
    prints(&["data", "--from", SAMPLE, "--out", corpus.to_str().unwrap()]);
    for words in [
        &["bench-cache", "--quick", "--checkpoint", &model][..],
        &["bench-decode", "--quick", "--checkpoint", &model],
        &["bench-train", "--steps", "1", "--corpus", "corpus"],
    ] {
        let ended = run_in(trap.path(), words);
        let last = ended.stdout.lines().last().unwrap();
        let json: Value = serde_json::from_str(last).unwrap();
        assert_eq!(json["provenance"]["commit"], Value::Null, "{words:?}");
    }
    for words in [
        &["write", "--form", "五绝", "--checkpoint", &model][..],
        &["report", "--help"],
        &["train", "--dry-run", "--corpus", "corpus", "--out", "run"],
        &["devices"],
    ] {
        run_in(trap.path(), words);
    }
}

#[test]
fn the_commit_is_the_one_that_the_environment_names() {
    let (folder, model) = (TempDir::new().unwrap(), model());
    let words = ["bench-decode", "--quick", "--checkpoint", &model];
    for (text, shown) in [
        ("0123456789ab modified", "- commit: 0123456789ab with uncommitted changes\n"),
        ("0123456789ab\n# page", "- commit: unknown\n"),
    ] {
        let mut command = tang(words);
        command.current_dir(folder.path()).env("TANG_COMMIT", text);
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains(shown), "{}", ended.stdout);
    }
}
