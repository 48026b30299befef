//! `cargo xtask train`: build `tang`, train a model, write its report.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use clap::Args;

use crate::process;

/// What to train, and where to put it.
#[derive(Args)]
pub struct Options {
    /// Passed on to `tang train`: --preset quick|default|best [default: default],
    /// --model tang-4l|minimind-4l [default: tang-4l],
    /// --out DIR [default: checkpoints/runs/MODEL-PRESET], --resume, --corpus PATH and so on
    #[arg(
        allow_hyphen_values = true,
        trailing_var_arg = true,
        value_name = "TRAIN_ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Trains, then measures: `DIR/report.md` holds the timing and correctness suite.
///
/// # Errors
/// If a step fails or training is interrupted; the message says how to go on.
pub fn run(options: &Options) -> Result<()> {
    let training = Training::new(&options.arguments);
    leave_interrupts_to_tang()?;
    process::run(process::cargo().args(["build", "--release", "--package", "tang-cli"]))?;
    process::run(process::tang().arg("train").args(&training.arguments)).with_context(|| {
        format!(
            "training stopped before its end; go on from its last checkpoint with `{}`",
            training.resume_line()
        )
    })?;
    process::run(
        process::tang()
            .args(["report", "--checkpoint"])
            .arg(&training.folder),
    )?;
    eprintln!("report: {}", training.folder.join("report.md").display());
    Ok(())
}

/// The arguments of `tang train`, and the folder of the run that they name.
struct Training {
    folder: PathBuf,
    arguments: Vec<OsString>,
}

impl Training {
    /// Completes `given` by a model, a preset and a folder; `tang train` checks the values.
    fn new(given: &[OsString]) -> Self {
        let mut arguments = given.to_vec();
        let mut or_default = |flag: &str, default: &str| {
            value(given, flag).unwrap_or_else(|| {
                arguments.extend([flag, default].map(OsString::from));
                default.into()
            })
        };
        let mut name = or_default("--model", "tang-4l");
        name.push("-");
        name.push(or_default("--preset", "default"));
        let folder = value(given, "--out").unwrap_or_else(|| {
            let folder = PathBuf::from("checkpoints/runs").join(name);
            arguments.extend(["--out".into(), folder.clone().into()]);
            folder.into()
        });
        Self {
            folder: folder.into(),
            arguments,
        }
    }

    fn resume_line(&self) -> String {
        let mut line = "cargo xtask train".to_owned();
        for argument in &self.arguments {
            line = line + " " + &argument.to_string_lossy();
        }
        if !self.arguments.iter().any(|word| word == "--resume") {
            line += " --resume";
        }
        line
    }
}

/// The value of `flag`, given as `--flag value` or `--flag=value`.
fn value(arguments: &[OsString], flag: &str) -> Option<OsString> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == flag {
            return words.next().cloned();
        }
        let joined = word.to_str().and_then(|word| word.strip_prefix(flag));
        if let Some(value) = joined.and_then(|rest| rest.strip_prefix('=')) {
            return Some(value.into());
        }
    }
    None
}

/// Ctrl-C reaches every process of the terminal. `tang` saves and stops at the first; waiting for
/// it here keeps its last messages before the shell's prompt. A second ends this program as well.
fn leave_interrupts_to_tang() -> Result<()> {
    let interrupted = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        if interrupted.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot watch for Ctrl-C")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn training(line: &str) -> Training {
        let words = std::iter::once("train").chain(line.split_whitespace());
        Training::new(&Line::try_parse_from(words).unwrap().options.arguments)
    }

    fn completed(line: &str) -> (String, String) {
        let Training { folder, arguments } = training(line);
        let arguments = arguments.join(" ".as_ref()).into_string().unwrap();
        (arguments, folder.display().to_string())
    }

    #[test]
    fn the_preset_names_the_folder_unless_one_is_given() {
        for (line, arguments, folder) in [
            (
                "",
                "--model tang-4l --preset default --out checkpoints/runs/tang-4l-default",
                "checkpoints/runs/tang-4l-default",
            ),
            (
                "--preset quick",
                "--preset quick --model tang-4l --out checkpoints/runs/tang-4l-quick",
                "checkpoints/runs/tang-4l-quick",
            ),
            (
                "--resume --preset=best --model minimind-4l",
                "--resume --preset=best --model minimind-4l --out checkpoints/runs/minimind-4l-best",
                "checkpoints/runs/minimind-4l-best",
            ),
            (
                "--out=there",
                "--out=there --model tang-4l --preset default",
                "there",
            ),
        ] {
            let wanted = (arguments.to_owned(), folder.to_owned());
            assert_eq!(completed(line), wanted, "{line}");
        }
    }

    #[test]
    fn arguments_are_passed_on_as_they_stand() {
        let line = "--resume --corpus=a --model a --preset quick --seed 7 --out there -v";
        assert_eq!(completed(line), (line.to_owned(), "there".to_owned()));
    }

    #[test]
    fn the_line_to_go_on_asks_to_resume_once() {
        for line in [
            "--model m --preset quick --out a --resume",
            "--model m --preset quick --out a",
        ] {
            assert_eq!(
                training(line).resume_line(),
                "cargo xtask train --model m --preset quick --out a --resume"
            );
        }
    }
}
