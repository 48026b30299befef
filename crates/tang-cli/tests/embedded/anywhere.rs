//! The model that is part of the program.

use std::{fs, path::Path};

use tempfile::TempDir;

use crate::work::{SAMPLE, prints, run, tang};

const CHECKPOINT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../checkpoints/tang-4l");

const ACROSTIC: [&str; 4] = ["acrostic", "春眠不觉", "--seed", "3"];

#[test]
fn the_embedded_model_is_that_of_its_folder() {
    for words in [
        &ACROSTIC[..],
        &["write", "--form", "五律", "--regulated", "--seed", "3", "-n", "3"],
        &["write", "--seed", "3", "--no-cache", "--json"],
        &["continue", "春风", "--beams", "3", "-n", "3", "--json"],
        &["logits", "床前明月光，", "--json"],
        &["logits", "--ids", "0,5,17"],
        &["next", "春", "--top", "9999", "--json"],
    ] {
        let from_folder = [words, &["--checkpoint", CHECKPOINT]].concat();
        assert!(prints(words) == prints(&from_folder), "{words:?}");
    }
}

/// Asserts that all commands without files work in a folder.
fn works_in(folder: &Path) {
    for (words, code, wanted) in [
        (&ACROSTIC[..], 0, "春"),
        (&["write", "--seed", "3", "--traditional"], 0, "，"),
        (&["continue", "春风", "--seed", "3"], 0, "春风"),
        (&["next", "春风", "--corpus", SAMPLE], 0, "rank  character"),
        (&["logits", "春", "--json"], 0, "{\"tokens\":[0,"),
        (&["check", "--summary", SAMPLE], 1, "%      poems"),
        (&["kv-cost", "--preset", "llama-7b"], 0, "| cache per token | 512 KiB |"),
    ] {
        let ended = run(tang(words).current_dir(folder));
        assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.stderr);
        assert!(ended.stdout.contains(wanted), "{words:?}: {}", ended.stdout);
    }
    let ended = run(tang(ACROSTIC).current_dir(folder));
    assert_eq!(ended.stdout, prints(&ACROSTIC));
}

#[test]
fn it_needs_no_file_of_the_folder() {
    let folder = TempDir::new().unwrap();
    works_in(folder.path());
    let other = folder.path().join("checkpoints/tang-4l");
    fs::create_dir_all(&other).unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::write(other.join(file), "another model").unwrap();
    }
    works_in(folder.path());
}

#[cfg(unix)]
#[test]
fn it_needs_no_folder_at_all() {
    use std::process::{Command, Stdio};

    let gone = TempDir::new().unwrap();
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "rmdir \"$PWD\" && exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_tang"))
        .args(ACROSTIC)
        .current_dir(gone.path())
        .stdin(Stdio::null());
    let ended = run(&mut shell);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, prints(&ACROSTIC));
    assert!(!gone.path().exists());
}
