//! `tang data` on a full disk, and stopped while npm runs.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    model::argument,
    work::{SAMPLE, prints, run, sample, tang},
};

/// `tang` with these words, where no file can grow beyond `blocks` of 512 bytes, as on a disk that
/// fills up.
fn with_files_up_to(blocks: usize, words: &[&str]) -> Command {
    // A write beyond would end the program, if the signal were not ignored.
    let script = format!("trap '' XFSZ; ulimit -f {blocks} && exec \"$@\"");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_tang")]);
    command.args(words).env("PATH", "");
    command
}

/// The names and contents of the files in a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_full_disk_leaves_the_corpus_that_was_there() {
    let folder = TempDir::new().unwrap();
    let less = folder.path().join("less.txt");
    let poems: Vec<String> = sample().lines().skip(20).map(str::to_owned).collect();
    fs::write(&less, poems.join("\n")).unwrap();
    let data = folder.path().join("data");
    let out = ["--out", data.to_str().unwrap()];
    prints(&["data", "--from", less.to_str().unwrap(), out[0], out[1]]);
    let before = contents(&data);

    // The largest file has 28 blocks; all of what is written before fails, and then nothing.
    let words = ["data", "--from", SAMPLE, out[0], out[1]];
    let largest = sample().len().div_ceil(512);
    for blocks in [0, 1, 2, largest / 2, largest - 2, largest - 1] {
        let ended = run(&mut with_files_up_to(blocks, &words));
        assert_eq!(ended.code, Some(1), "{blocks}: {}", ended.stderr);
        assert!(ended.stderr.contains("cannot write"), "{}", ended.stderr);
        assert!(ended.stderr.contains("os error 27"), "{}", ended.stderr);
        assert_eq!(contents(&data), before, "{blocks}");
        prints(&["data", out[0], out[1]]);
    }
    let ended = run(&mut with_files_up_to(largest, &words));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(data.join("tang.txt")).unwrap(), sample());
}

/// A folder with an npm that runs this script.
fn fake_npm(script: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("npm");
    // By way of a rename: one that is open for writing cannot be run.
    let text = format!("#!/bin/sh\n{script}\n");
    fs::write(folder.path().join("new"), text).unwrap();
    fs::set_permissions(folder.path().join("new"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    folder
}

/// Whether a process is there and no zombie.
fn is_running(process: &str) -> bool {
    let status = format!("/proc/{}/status", process.trim());
    fs::read_to_string(status).is_ok_and(|status| !status.contains("State:\tZ"))
}

#[cfg(target_os = "linux")]
#[test]
fn npm_ends_with_tang_and_leaves_nothing() {
    for command in ["data", "train"] {
        for signal in ["-INT", "-TERM", "-HUP"] {
            let work = TempDir::new().unwrap();
            let temporary = TempDir::new().unwrap();
            let started = work.path().join("started");
            // The package comes slowly, by way of a program that npm starts.
            let npm = fake_npm(
                "echo half > chinese-poetry-2.0.1.tgz; sleep 100 & \
                 echo $$ $! > \"$STARTED.new\" && mv \"$STARTED.new\" \"$STARTED\"; wait",
            );
            let mut words = tang([command]);
            words
                .current_dir(work.path())
                .env("PATH", format!("{}:/usr/bin:/bin", argument(&npm)))
                .env("TMPDIR", temporary.path())
                .env("STARTED", &started);
            let running = thread::spawn(move || run(&mut words));
            let start = Instant::now();
            while !started.exists() && start.elapsed() < Duration::from_secs(60) {
                thread::sleep(Duration::from_millis(10));
            }
            let processes = fs::read_to_string(&started).unwrap();
            let [shell, sleep] = [0, 1].map(|at| processes.split(' ').nth(at).unwrap());
            assert!(is_running(shell) && is_running(sleep));
            assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1);

            let status = fs::read_to_string(format!("/proc/{shell}/status")).unwrap();
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
            let parent = parent.unwrap().trim().to_owned();
            let sent = Command::new("kill").args([signal, &parent]).status();
            assert!(sent.unwrap().success());
            let ended = running.join().unwrap();
            assert_eq!(ended.code, Some(130), "{}", ended.stderr);
            assert!(ended.stderr.contains("error: interrupted"), "{}", ended.stderr);
            assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
            // A process that was killed may take a moment to end.
            let killed = Instant::now();
            while is_running(shell) || is_running(sleep) {
                assert!(killed.elapsed() < Duration::from_secs(5), "{signal}");
                thread::sleep(Duration::from_millis(10));
            }
            assert!(!work.path().join("data").exists());
        }
    }
}
