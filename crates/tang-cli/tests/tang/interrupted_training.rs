//! `tang train`, stopped by a signal or by a full disk.

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
    model::argument,
    train::last_step,
    work::{SAMPLE, fails, prints, run, tang},
};

/// Reads the output of a run up to a line that starts like this.
pub fn wait_for(stderr: &mut impl BufRead, start: &str) {
    let mut line = String::new();
    while !line.starts_with(start) {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "no line `{start}`");
    }
}

/// `train` on the sample, with these words.
fn of_the_sample<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["train", "--corpus", SAMPLE], words].concat()
}

/// Starts it.
fn train_in_the_background(words: &[&str]) -> Child {
    let mut train = tang(of_the_sample(words));
    // It takes its own, whatever is set.
    train.env("BURN_DEVICE", "none");
    let pipes = train.stdout(Stdio::piped()).stderr(Stdio::piped());
    pipes.spawn().unwrap()
}

/// Sends a signal, for instance `-INT`.
pub fn signal(process: u32, name: &str) {
    let kill = Command::new("kill").args([name, &process.to_string()]).status();
    assert!(kill.unwrap().success());
}

#[test]
fn an_interrupted_run_is_saved_and_goes_on() {
    let folder = TempDir::new().unwrap();
    let out = argument(&folder);
    let start = ["--steps", "19", "--out", out];
    let resume = ["--resume", "--out", out];
    let resume_line = format!("`tang train --resume --out {out} --corpus {SAMPLE}`");
    let mut stopped_at = 0;
    for (words, name) in [(start.as_slice(), "-INT"), (&resume, "-TERM")] {
        let mut child = train_in_the_background(words);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        wait_for(&mut stderr, "step ");
        fails(&of_the_sample(&start), 1, "another training is writing to");
        signal(child.id(), name);
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{rest}");
        assert_eq!(output.stdout, b"");
        assert!(rest.contains(&resume_line), "{rest}");
        let step = last_step(folder.path());
        assert!(rest.contains(&format!("stopped after step {step}")), "{rest}");
        assert!(stopped_at < step && step < 19, "{stopped_at} {step}");
        stopped_at = step;
    }
    assert_eq!(prints(&of_the_sample(&resume)), format!("{out}\n"));
    assert_eq!(last_step(folder.path()), 19);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_has_the_environment_that_it_needs() {
    let folder = TempDir::new().unwrap();
    let out = argument(&folder);
    let mut child = train_in_the_background(&["--steps", "20", "--out", out]);
    wait_for(&mut BufReader::new(child.stderr.take().unwrap()), "step ");
    let environment = fs::read(format!("/proc/{}/environ", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let variables: Vec<_> = environment.split(|byte| *byte == 0).collect();
    for wanted in ["MIMALLOC_PURGE_DELAY=-1", "BURN_DEVICE=flex"] {
        assert!(variables.contains(&wanted.as_bytes()), "{wanted}");
    }
}

#[test]
fn a_second_interrupt_ends_a_run_at_once() {
    let folder = TempDir::new().unwrap();
    let out = argument(&folder);
    let mut child = train_in_the_background(&["--steps", "20", "--out", out]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut stderr, "step 2/20");
    signal(child.id(), "-INT");
    wait_for(&mut stderr, "stopping after this step");
    signal(child.id(), "-INT");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest}");
    assert_eq!(output.stdout, b"");
    assert!(!rest.contains("stopped after step"), "{rest}");
    // The model saved before is whole.
    prints(&["write", "--seed", "1", "--checkpoint", out]);
    prints(&["train", "--resume", "--corpus", SAMPLE, "--out", out]);
    assert_eq!(last_step(folder.path()), 20);
}

/// `tang train` with these words, where no file can grow beyond `kib` KiB, as on a disk that fills up.
fn with_files_up_to(kib: usize, words: &[&str]) -> Command {
    // Blocks of 512 bytes. A write beyond would end the program, if the signal were not ignored.
    let script = format!("trap '' XFSZ; ulimit -f {} && exec \"$@\"", 2 * kib);
    let mut command = Command::new("/bin/sh");
    let program = env!("CARGO_BIN_EXE_tang");
    command.args(["-c", &script, "sh", program, "train", "--corpus", SAMPLE]);
    command.args(words).env("PATH", "").stdin(Stdio::null());
    command
}

#[test]
fn a_full_disk_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let out = argument(&folder);
    let names = |folder: &Path| -> Vec<_> {
        let files = fs::read_dir(folder).unwrap().map(Result::unwrap);
        files.map(|file| file.file_name().into_string().unwrap()).collect()
    };
    // Not even the first state has room, and then the state with its moments has none.
    for (kib, wanted, step) in [(1024, "training_state", None), (6144, "training_state", Some(0))] {
        let ended = run(&mut with_files_up_to(kib, &["--steps", "4", "--out", out]));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.stderr);
        assert!(ended.stderr.contains("error: cannot read or write"), "{}", ended.stderr);
        assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
        let names = names(folder.path());
        assert!(names.iter().all(|name| !name.ends_with(".tang-tmp")), "{names:?}");
        let state = names.iter().any(|name| name == "training_state.safetensors");
        assert_eq!(state, step.is_some(), "{names:?}");
    }
    // The model of the first evaluation was written before the state was refused.
    prints(&["write", "--seed", "1", "--checkpoint", out]);
    let state = fs::read(folder.path().join("training_state.safetensors")).unwrap();
    let ended = run(&mut with_files_up_to(6144, &["--resume", "--out", out]));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let kept = fs::read(folder.path().join("training_state.safetensors")).unwrap();
    assert!(kept == state, "the state changed");
    prints(&["train", "--resume", "--corpus", SAMPLE, "--out", out]);
    assert_eq!(last_step(folder.path()), 4);
}

/// The losses that a run logged, by step; the last word on a step counts.
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
        let mut child =
            tang(words(how, &killed)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
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
    let left = fs::read_dir(&killed).unwrap().map(|entry| entry.unwrap().file_name());
    for name in left {
        assert!(!name.to_string_lossy().ends_with(".tang-tmp"), "{name:?}");
    }
}
