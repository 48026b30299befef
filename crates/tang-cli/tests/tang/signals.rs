//! `tang train` and signals that were ignored when it began.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::{
    interrupted_training::{signal, wait_for},
    model::argument,
    train::last_step,
    work::SAMPLE,
};

const STEPS: u64 = 12;

/// A run that a program or a shell's script starts with these words.
fn train_by(start: &[&str], out: &str) -> Child {
    let mut train = Command::new(start[0]);
    train.args(&start[1..]).arg(env!("CARGO_BIN_EXE_tang"));
    train.args(["train", "--corpus", SAMPLE, "--out", out]);
    train.args(["--steps", &STEPS.to_string()]);
    let pipes = train.stdin(Stdio::null()).stdout(Stdio::piped());
    pipes.stderr(Stdio::piped()).spawn().unwrap()
}

/// The exit code of a run that is sent these signals at its first steps, and what it says from there on.
fn after(mut child: Child, signals: &[&str]) -> (Option<i32>, String) {
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut stderr, "step ");
    for name in signals {
        signal(child.id(), name);
    }
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    (child.wait().unwrap().code(), rest)
}

/// The words of a shell that ignores signals and becomes a program.
fn ignoring(signals: &str) -> [String; 4] {
    let script = format!("trap '' {signals}; exec \"$@\"");
    ["/bin/sh".into(), "-c".into(), script, "sh".into()]
}

#[cfg(target_os = "linux")]
#[test]
fn signals_that_were_ignored_stay_ignored() {
    for (ignored, sent) in [
        ("HUP", vec!["-HUP"]),
        ("INT", vec!["-INT", "-INT"]),
        ("TERM", vec!["-TERM"]),
        ("HUP INT TERM", vec!["-INT", "-HUP", "-TERM"]),
    ] {
        let folder = TempDir::new().unwrap();
        let start = ignoring(ignored);
        let child = train_by(&start.each_ref().map(String::as_str), argument(&folder));
        let (code, rest) = after(child, &sent);
        assert_eq!(code, Some(0), "{ignored}: {rest}");
        assert!(!rest.contains("stopping"), "{ignored}: {rest}");
        assert_eq!(last_step(folder.path()), STEPS);
        assert!(folder.path().join("loss.svg").exists());
    }
}

#[test]
fn the_others_still_save_and_stop() {
    for (ignored, sent) in [("HUP", "-TERM"), ("INT", "-HUP"), ("TERM", "-INT"), ("QUIT", "-HUP")] {
        let folder = TempDir::new().unwrap();
        let start = ignoring(ignored);
        let child = train_by(&start.each_ref().map(String::as_str), argument(&folder));
        let (code, rest) = after(child, &[sent]);
        assert_eq!(code, Some(130), "{ignored}: {rest}");
        let step = last_step(folder.path());
        let stopped = format!("stopped after step {step} and saved");
        assert!(rest.contains(&stopped) && step < STEPS, "{ignored}: {rest}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nohup_is_heeded() {
    let folder = TempDir::new().unwrap();
    let (code, rest) = after(train_by(&["nohup"], argument(&folder)), &["-HUP"]);
    assert_eq!(code, Some(0), "{rest}");
    assert_eq!(last_step(folder.path()), STEPS);

    let folder = TempDir::new().unwrap();
    let (code, rest) = after(train_by(&["nohup"], argument(&folder)), &["-HUP", "-TERM"]);
    assert_eq!(code, Some(130), "{rest}");
}

/// A shell without a terminal lets what it starts with `&` ignore SIGINT.
#[cfg(target_os = "linux")]
#[test]
fn a_background_job_of_a_script_goes_on() {
    let folder = TempDir::new().unwrap();
    let script = "\"$@\" & echo $!; wait $!";
    let mut shell = train_by(&["/bin/sh", "-c", script, "sh"], argument(&folder));
    let mut stdout = BufReader::new(shell.stdout.take().unwrap());
    let mut job = String::new();
    stdout.read_line(&mut job).unwrap();
    let job = job.trim().parse().unwrap();
    let mut stderr = BufReader::new(shell.stderr.take().unwrap());
    wait_for(&mut stderr, "step ");
    signal(job, "-INT");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(shell.wait().unwrap().code(), Some(0), "{rest}");
    assert_eq!(last_step(folder.path()), STEPS);
}
