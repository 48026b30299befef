//! Folders and files that others have written, named where `tang` writes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    model::{argument, copied_model},
    train::last_step,
    work::{SAMPLE, fails, prints, run, tang},
};

/// The files of a folder, each with what it holds.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.path(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_run_begins_in_a_new_or_empty_folder_only() {
    let checkpoints = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checkpoints");
    let cases: [(&str, &[&str]); 5] = [
        // As Hugging Face has them, with and without the weights, and in other files.
        ("config.json", &["config.json", "tokenizer.json", "tokenizer_config.json"]),
        ("config.json", &["config.json", "tokenizer.json", "model.safetensors"]),
        ("pytorch_model.bin", &["pytorch_model.bin"]),
        ("model.safetensors.index.json", &["model.safetensors.index.json"]),
        ("notes.txt", &["notes.txt"]),
    ];
    for (first, names) in cases {
        let folder = TempDir::new().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "theirs").unwrap();
        }
        let before = files(folder.path());
        let words = ["train", "--corpus", SAMPLE, "--steps", "1", "--out", argument(&folder)];
        let wanted = format!("holds {first}, and no training run to go on with");
        let message = fails(&words, 1, &wanted);
        assert!(message.contains("name another one"), "{message}");
        assert!(files(folder.path()) == before, "{names:?}: something changed");
    }
    // A model that is committed has no state to go on from.
    let folder = TempDir::new().unwrap();
    for file in fs::read_dir(checkpoints.join("tang-4l")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let before = files(folder.path());
    let out = argument(&folder);
    let start = ["train", "--corpus", SAMPLE, "--out", out];
    fails(&start, 1, "holds config.json, and no training run to go on with");
    let resume = ["train", "--resume", "--corpus", SAMPLE, "--out", out];
    fails(&resume, 1, "holds no training run to resume");
    let plan = prints(&[&start[..], &["--dry-run"]].concat());
    assert!(plan.contains("(taken: name another folder"), "{plan}");
    assert!(files(folder.path()) == before, "something changed");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links() {
    use std::os::unix::fs::symlink;

    let words = |out: &Path| -> Vec<String> {
        let fixed = ["train", "--corpus", SAMPLE, "--steps", "1", "--out"];
        let words = fixed.iter().map(ToString::to_string);
        words.chain([out.to_str().unwrap().to_owned()]).collect()
    };
    let top = TempDir::new().unwrap();
    let mine = top.path().join("mine");
    fs::write(&mine, "my own notes").unwrap();
    // Links in a folder that would be empty without them, one of them to nothing.
    let cases = [
        ("config.json", mine.clone(), "holds config.json"),
        ("config.json", top.path().join("nothing"), "holds config.json"),
        ("log.jsonl", mine.clone(), "holds log.jsonl"),
        (".lock", mine.clone(), "it is a link"),
        (".lock", top.path().join("nothing"), "it is a link"),
    ];
    for (i, (name, to, wanted)) in cases.into_iter().enumerate() {
        let out = top.path().join(format!("run{i}"));
        fs::create_dir(&out).unwrap();
        symlink(&to, out.join(name)).unwrap();
        let ended = run(&mut tang(words(&out)));
        assert_eq!(ended.code, Some(1), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(wanted), "{name}: {}", ended.stderr);
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1, "{name}");
        assert_eq!(fs::read_to_string(&mine).unwrap(), "my own notes", "{name}");
        assert!(!top.path().join("nothing").exists(), "{name}");
    }
    // A lock that is a file keeps what it holds.
    let out = top.path().join("locked");
    fs::create_dir(&out).unwrap();
    fs::write(out.join(".lock"), "my own notes").unwrap();
    let ended = run(&mut tang(words(&out)));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(out.join(".lock")).unwrap(), "my own notes");

    // In a run of our own, links become files, and what they led to stays.
    let folder = copied_model();
    let names = ["config.json", "tokenizer.json", "log.jsonl", "loss.svg"];
    for name in names {
        let kept = top.path().join(name);
        fs::rename(folder.path().join(name), &kept).unwrap();
        symlink(&kept, folder.path().join(name)).unwrap();
    }
    let before = names.map(|name| fs::read(top.path().join(name)).unwrap());
    let out = argument(&folder);
    prints(&["train", "--resume", "--corpus", SAMPLE, "--out", out]);
    assert_eq!(last_step(folder.path()), 10);
    assert!(names.map(|name| fs::read(top.path().join(name)).unwrap()) == before);
}

#[test]
fn reports_of_others_are_not_replaced() {
    let folder = copied_model();
    let page = folder.path().join("report.md");
    fs::write(&page, "# Our annual report\n").unwrap();
    let checkpoint = ["--quick", "--checkpoint", argument(&folder)];
    let words = [&["report"][..], &checkpoint].concat();
    fails(&words, 1, "report.md is there already, and no such measurement");
    let out = TempDir::new().unwrap();
    for (name, bench) in [
        ("report.md", "bench-cache"),
        ("report.json", "bench-decode"),
        ("speed-up.svg", "bench-cache"),
    ] {
        let path = out.path().join(name);
        fs::write(&path, "theirs").unwrap();
        let words = [&[bench, "--out", argument(&out)][..], &checkpoint].concat();
        fails(&words, 1, &format!("{name} is there already"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        fs::remove_file(path).unwrap();
    }
    assert_eq!(fs::read_to_string(page).unwrap(), "# Our annual report\n");
    let data = TempDir::new().unwrap();
    prints(&["data", "--from", SAMPLE, "--out", argument(&data)]);
    let picture = out.path().join("loss.svg");
    fs::write(&picture, "theirs").unwrap();
    let words = ["bench-train", "--corpus", argument(&data), "--out", argument(&out)];
    let message = fails(&words, 1, "loss.svg is there already");
    assert!(message.contains("use another folder"), "{message}");
    assert_eq!(fs::read_to_string(picture).unwrap(), "theirs");
}
