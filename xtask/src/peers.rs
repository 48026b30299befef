//! Measurements beside PyTorch, where `cargo xtask ci` has made an environment for it.

use std::ffi::OsString;

use anyhow::Result;

use crate::{hf_check::PYTHON, process, workspace};

/// Runs `tang` with these words. A program named by `flag` is run beside it: the one among the words, or else
/// the Python of the environment, if it is there, with `script` behind it.
///
/// # Errors
///
/// If `tang` fails.
pub fn measure(command: &str, flag: &str, script: Option<&str>, words: &[OsString]) -> Result<()> {
    let mut tang = process::tang();
    tang.arg(command).args(words);
    if !names(words, flag) && workspace::root().join(PYTHON).exists() {
        let program: Vec<&str> = [PYTHON].into_iter().chain(script).collect();
        tang.arg(flag).arg(program.join(" "));
    }
    process::run(&mut tang)
}

fn names(words: &[OsString], flag: &str) -> bool {
    let is_flag = |word: &str| word.split('=').next() == Some(flag);
    words.iter().any(|word| word.to_str().is_some_and(is_flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_found_in_both_its_forms() {
        for (word, found) in [
            ("--peer", true),
            ("--peer=a b", true),
            ("--peer-log", false),
            ("peer", false),
        ] {
            assert_eq!(
                names(&["--steps".into(), word.into()], "--peer"),
                found,
                "{word}"
            );
        }
    }
}
