//! `tang train`.

use std::{fs, path::Path};

use tempfile::TempDir;

use crate::{
    data::gbk_file,
    model::{argument, copied_model},
    work::{SAMPLE, fails, fails_in, prints, run, sample, tang},
};

/// The step of the last line of a run's log.
pub fn last_step(folder: &Path) -> u64 {
    let log = fs::read_to_string(folder.join("log.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    last["step"].as_u64().unwrap()
}

#[test]
fn trains_and_says_what_next() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let words = ["train", "--steps", "2", "--seed", "5", "--corpus", SAMPLE, "--out"];
    let ended = run(tang(words).arg(&out));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, format!("{}\n", out.display()));
    for wanted in [
        "step 1/2",
        "step 2/2",
        "nats per character",
        "Han only",
        "  七绝  ",
        "  春风  春风",
        "characters/s",
        &format!("tang acrostic 春眠不觉 --checkpoint {}", out.display()),
    ] {
        assert!(ended.stderr.contains(wanted), "{wanted}: {}", ended.stderr);
    }
    assert!(fs::read_to_string(out.join("loss.svg")).unwrap().starts_with("<svg"));
    assert_eq!(last_step(&out), 2);
    prints(&["acrostic", "春眠不觉", "--checkpoint", out.to_str().unwrap()]);

    // The run is over: going on with it does nothing, and says the same.
    let words = ["train", "--resume", "--corpus", SAMPLE, "--out"];
    let again = run(tang(words).arg(&out));
    assert_eq!((again.code, again.stdout), (Some(0), ended.stdout));
    assert!(again.stderr.contains("2 of 2 steps are done"), "{}", again.stderr);
    // Without its log, too, which may be moved away; the picture of it stays.
    let picture = fs::read(out.join("loss.svg")).unwrap();
    fs::remove_file(out.join("log.jsonl")).unwrap();
    let again = run(tang(words).arg(&out));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(fs::read(out.join("loss.svg")).unwrap(), picture);
}

#[test]
fn a_sample_whose_characters_are_unknown_is_left_out() {
    let folder = TempDir::new().unwrap();
    let poems = folder.path().join("poems.txt");
    let others: Vec<String> =
        sample().lines().filter(|poem| !poem.contains(['春', '风'])).map(str::to_owned).collect();
    fs::write(&poems, others[..12].join("\n")).unwrap();
    let out = folder.path().join("run");
    let ended = run(tang(["train", "--steps", "1", "--corpus"]).arg(&poems).arg("--out").arg(&out));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("  七绝  "), "{}", ended.stderr);
    assert!(!ended.stderr.contains("  春风  "), "{}", ended.stderr);
}

#[test]
fn a_run_is_never_overwritten() {
    let model = copied_model();
    let out = argument(&model);
    let weights = fs::read(model.path().join("model.safetensors")).unwrap();
    let message = fails(
        &["train", "--corpus", SAMPLE, "--out", out],
        1,
        "holds a training run already: resume it",
    );
    assert!(message.contains("--resume goes on"), "{message}");
    assert_eq!(fs::read(model.path().join("model.safetensors")).unwrap(), weights);
}

#[test]
fn only_a_run_can_be_resumed() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    fails(
        &["train", "--resume", "--corpus", SAMPLE, "--out", out.to_str().unwrap()],
        1,
        "holds no training run to resume",
    );
    assert!(!out.exists());
    fails_in(
        folder.path(),
        &["train", "--resume", "--preset", "quick"],
        1,
        "checkpoints/runs/tang-4l-quick holds no",
    );
    fails_in(folder.path(), &["train", "--resume"], 1, "checkpoints/runs/tang-4l-default holds no");
    fails(
        &["train", "--resume", "--out", "x", "--model", "minimind-4l"],
        1,
        "leave out --model and --preset",
    );
    for flag in ["--seed", "--steps"] {
        fails(&["train", "--resume", flag, "1"], 2, "cannot be used with");
    }
}

#[test]
fn a_run_goes_on_with_its_own_corpus_only() {
    let model = copied_model();
    let poems = model.path().join("poems.txt");
    fs::write(&poems, sample().lines().take(40).collect::<Vec<_>>().join("\n")).unwrap();
    let words =
        ["train", "--resume", "--corpus", poems.to_str().unwrap(), "--out", argument(&model)];
    fails(&words, 1, "the run was started on another corpus");
}

#[test]
fn a_damaged_state_is_told() {
    let model = copied_model();
    fs::write(model.path().join("training_state.safetensors"), "damaged").unwrap();
    let words = ["train", "--resume", "--corpus", SAMPLE, "--out", argument(&model)];
    fails(&words, 1, "training_state.safetensors");
}

#[test]
fn a_seed_gives_the_same_file_on_any_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let model = |threads: &str, seed| {
        let out = folder.path().join(format!("{threads}-{seed}"));
        let words = ["train", "--steps", "3", "--corpus", SAMPLE, "--seed", seed];
        let mut train = tang(words);
        train.env("RAYON_NUM_THREADS", threads).arg("--out");
        let ended = run(train.arg(&out));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        fs::read(out.join("model.safetensors")).unwrap()
    };
    let one = model("1", "0");
    for threads in ["2", "3"] {
        assert!(model(threads, "0") == one, "{threads} threads");
    }
    assert!(model("1", "1") != one, "another seed");
}

#[test]
fn a_run_that_cannot_start_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let gbk = gbk_file(&folder);
    let out = folder.path().join("run");
    for (words, code, wanted) in [
        (vec!["--corpus", "no/such/file"], 1, "cannot read no/such/file"),
        (vec!["--corpus", &gbk], 1, "is not UTF-8"),
        (vec!["--corpus", argument(&folder)], 1, "no corpus in"),
        // The default corpus is missing, and there is no npm to fetch it.
        (vec![], 1, "`npm` was not found"),
        (vec!["--preset", "fast"], 2, "no preset `fast`: use quick, default, best or song"),
        (vec!["--steps", "few"], 2, "--steps"),
        (vec!["--corpus", SAMPLE, "--steps", "0"], 1, "0 steps"),
        (vec!["--corpus", SAMPLE, "--context", "0"], 1, "the context is 0"),
    ] {
        let words = [["train", "--out", out.to_str().unwrap()].as_slice(), &words].concat();
        fails_in(folder.path(), &words, code, wanted);
        assert!(!out.exists(), "{wanted}");
        assert!(!folder.path().join("data").exists(), "{wanted}");
    }
    // A file is where the folder should be.
    let before = fs::read(&gbk).unwrap();
    let words = ["train", "--corpus", SAMPLE, "--out", &gbk];
    fails(&words, 1, "cannot read or write");
    assert_eq!(fs::read(&gbk).unwrap(), before);
}
