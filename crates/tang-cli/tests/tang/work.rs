//! Running `tang`.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
};

/// 120 poems that are part of the repository.
pub const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/sample.txt");

/// The text of [`SAMPLE`].
pub fn sample() -> String {
    std::fs::read_to_string(SAMPLE).unwrap()
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// `tang`, in a folder that holds neither a corpus nor a model, and without npm.
pub fn tang<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tang"));
    command
        .args(arguments)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("PATH", "")
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    let ended = Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    for word in ["panicked", "backtrace"] {
        assert!(!ended.stderr.contains(word), "{}", ended.stderr);
    }
    for text in [&ended.stdout, &ended.stderr] {
        assert!(!text.contains('\u{1b}'), "no colours, no bars: {text}");
    }
    ended
}

/// The output of `tang` with these arguments; it must succeed.
pub fn prints(words: &[&str]) -> String {
    let ended = run(&mut tang(words));
    assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
    ended.stdout
}

/// Asserts that `tang` ends with this code and says this, and prints no data. The message.
pub fn fails(words: &[&str], code: i32, wanted: &str) -> String {
    fails_in(Path::new(env!("CARGO_TARGET_TMPDIR")), words, code, wanted)
}

/// [`fails`] in another folder.
pub fn fails_in(folder: &Path, words: &[&str], code: i32, wanted: &str) -> String {
    let ended = run(tang(words).current_dir(folder));
    assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.stderr);
    assert!(ended.stderr.contains(wanted), "{words:?}: {}", ended.stderr);
    assert_eq!(ended.stderr.matches("error: ").count(), 1, "{words:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "{words:?}");
    ended.stderr
}
