//! `tang train`.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    data::gbk_file,
    model::{argument, copied_model},
    work::{SAMPLE, fails, fails_in, prints, run, sample, tang},
};

/// The step of the last line of a run's log.
fn last_step(folder: &Path) -> u64 {
    let log = fs::read_to_string(folder.join("log.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    last["step"].as_u64().unwrap()
}

#[test]
fn trains_and_says_what_next() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let words = [
        "train", "--steps", "2", "--seed", "5", "--corpus", SAMPLE, "--out",
    ];
    let ended = run(tang(words).arg(&out));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, format!("{}\n", out.display()));
    for wanted in [
        "step 1/2",
        "step 2/2",
        "nats a character",
        "Han only",
        "  七绝  ",
        "  春风  春风",
        &format!("tang acrostic 春眠不觉 --checkpoint {}", out.display()),
    ] {
        assert!(ended.stderr.contains(wanted), "{wanted}: {}", ended.stderr);
    }
    assert!(
        fs::read_to_string(out.join("loss.svg"))
            .unwrap()
            .starts_with("<svg")
    );
    assert_eq!(last_step(&out), 2);
    prints(&[
        "acrostic",
        "春眠不觉",
        "--checkpoint",
        out.to_str().unwrap(),
    ]);

    // The run is over: going on with it does nothing, and says the same.
    let words = ["train", "--resume", "--corpus", SAMPLE, "--out"];
    let again = run(tang(words).arg(&out));
    assert_eq!((again.code, again.stdout), (Some(0), ended.stdout));
    assert!(
        again.stderr.contains("2 of 2 steps are done"),
        "{}",
        again.stderr
    );
}

#[test]
fn a_sample_whose_characters_are_unknown_is_left_out() {
    let folder = TempDir::new().unwrap();
    let poems = folder.path().join("poems.txt");
    let others: Vec<String> = sample()
        .lines()
        .filter(|poem| !poem.contains(['春', '风']))
        .map(str::to_owned)
        .collect();
    fs::write(&poems, others[..12].join("\n")).unwrap();
    let out = folder.path().join("run");
    let ended = run(tang(["train", "--steps", "1", "--corpus"])
        .arg(&poems)
        .arg("--out")
        .arg(&out));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("  七绝  "), "{}", ended.stderr);
    assert!(!ended.stderr.contains("  春风  "), "{}", ended.stderr);
}

/// Reads the output of a run up to a line that starts like this.
fn wait_for(stderr: &mut impl BufRead, start: &str) {
    let mut line = String::new();
    while !line.starts_with(start) {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "no line `{start}`");
    }
}

/// Sends a signal, for instance `-INT`.
#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_saved_and_goes_on() {
    let folder = TempDir::new().unwrap();
    let out = argument(&folder);
    let start = ["train", "--steps", "19", "--corpus", SAMPLE, "--out", out];
    let resume = ["train", "--resume", "--corpus", SAMPLE, "--out", out];
    let resume_line = format!("`tang train --resume --out {out} --corpus {SAMPLE}`");
    let mut stopped_at = 0;
    for (words, name) in [(start.as_slice(), "-INT"), (&resume, "-TERM")] {
        let mut child = tang(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        wait_for(&mut stderr, "step ");
        fails(&start, 1, "another training is writing to");
        signal(&child, name);
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{rest}");
        assert_eq!(output.stdout, b"");
        assert!(rest.contains(&resume_line), "{rest}");
        let step = last_step(folder.path());
        assert!(
            rest.contains(&format!("stopped after step {step}")),
            "{rest}"
        );
        assert!(stopped_at < step && step < 19, "{stopped_at} {step}");
        stopped_at = step;
    }
    assert_eq!(prints(&resume), format!("{out}\n"));
    assert_eq!(last_step(folder.path()), 19);
}

/// The losses that a run logged, by step; the last word on a step counts.
#[cfg(unix)]
fn losses(folder: &Path) -> BTreeMap<u64, serde_json::Value> {
    let log = fs::read_to_string(folder.join("log.jsonl")).unwrap();
    let lines = log.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let loss = |name: &str| line[name].clone();
        let losses = [loss("train_nats_per_char"), loss("nats_per_char")];
        (line["step"].as_u64().unwrap(), losses.to_vec().into())
    });
    lines.collect()
}

/// Twenty times, at moments that differ: in the middle of a step, of an evaluation, of a write.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_keeps_a_model_and_goes_on_as_if_nothing_had_been() {
    let top = TempDir::new().unwrap();
    let [whole, killed] = ["whole", "killed"].map(|name| top.path().join(name));
    let words = |how: &[&str], out: &Path| -> Vec<String> {
        let fixed = ["train", "--corpus", SAMPLE, "--out", out.to_str().unwrap()];
        fixed.iter().chain(how).map(ToString::to_string).collect()
    };
    let ended = run(&mut tang(words(&["--steps", "20"], &whole)));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    let start: &[&str] = &["--steps", "20"];
    let mut how = start;
    let mut kills = 0;
    let mut moment = 0;
    while kills < 20 {
        let mut child = tang(words(how, &killed))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        moment = (moment + 137) % 500;
        std::thread::sleep(Duration::from_millis(60 + moment));
        let is_over = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        if killed.join("model.safetensors").exists() {
            let checkpoint = killed.to_str().unwrap();
            prints(&["write", "--seed", "1", "--checkpoint", checkpoint]);
        }
        kills += u32::from(!is_over);
        how = &["--resume"];
        // Over, or killed before there was anything to go on from: begun anew.
        if is_over || !killed.join("training_state.safetensors").exists() {
            let _ = fs::remove_dir_all(&killed);
            how = start;
        }
    }
    let ended = run(&mut tang(words(how, &killed)));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(losses(&killed), losses(&whole));
    let left = fs::read_dir(&killed)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    for name in left {
        assert!(!name.to_string_lossy().ends_with(".tang-tmp"), "{name:?}");
    }
}

#[test]
fn a_run_is_never_overwritten() {
    let model = copied_model();
    let out = argument(&model);
    let weights = fs::read(model.path().join("model.safetensors")).unwrap();
    fails(
        &["train", "--corpus", SAMPLE, "--out", out],
        1,
        "holds a model or a training run already: go on with --resume",
    );
    assert_eq!(
        fs::read(model.path().join("model.safetensors")).unwrap(),
        weights
    );
}

#[test]
fn only_a_run_can_be_resumed() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    fails(
        &[
            "train",
            "--resume",
            "--corpus",
            SAMPLE,
            "--out",
            out.to_str().unwrap(),
        ],
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
    fails_in(
        folder.path(),
        &["train", "--resume"],
        1,
        "checkpoints/runs/tang-4l-default holds no",
    );
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
    fs::write(
        &poems,
        sample().lines().take(40).collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    let words = [
        "train",
        "--resume",
        "--corpus",
        poems.to_str().unwrap(),
        "--out",
        argument(&model),
    ];
    fails(&words, 1, "the run was started on another corpus");
}

#[test]
fn a_damaged_state_is_told() {
    let model = copied_model();
    fs::write(model.path().join("training_state.safetensors"), "damaged").unwrap();
    let words = [
        "train",
        "--resume",
        "--corpus",
        SAMPLE,
        "--out",
        argument(&model),
    ];
    fails(&words, 1, "training_state.safetensors");
}

#[test]
fn a_run_that_cannot_start_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let gbk = gbk_file(&folder);
    let out = folder.path().join("run");
    for (words, code, wanted) in [
        (
            vec!["--corpus", "no/such/file"],
            1,
            "cannot read no/such/file",
        ),
        (vec!["--corpus", &gbk], 1, "is not UTF-8"),
        (vec!["--corpus", argument(&folder)], 1, "no corpus in"),
        // The default corpus is missing, and there is no npm to fetch it.
        (vec![], 1, "`npm` was not found"),
        (
            vec!["--preset", "fast"],
            2,
            "no preset `fast`: use quick, default or best",
        ),
        (vec!["--steps", "few"], 2, "--steps"),
        (vec!["--corpus", SAMPLE, "--steps", "0"], 1, "0 steps"),
        (
            vec!["--corpus", SAMPLE, "--context", "0"],
            1,
            "the context is 0",
        ),
    ] {
        let words = [["train", "--out", out.to_str().unwrap()].as_slice(), &words].concat();
        fails_in(folder.path(), &words, code, wanted);
        assert!(!out.exists(), "{wanted}");
        assert!(!folder.path().join("data").exists(), "{wanted}");
    }
}
