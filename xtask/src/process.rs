//! Commands that start at the root of the workspace and fail with their command line and status.

use std::{
    ffi::OsStr,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// A command that starts at the root of the workspace.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace::root());
    command
}

/// The cargo that started this program, else the one on the path.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `tang`, built first if need be with these options of cargo. Arguments that follow are its own.
pub fn tang(options: &[&str]) -> Command {
    let mut tang = cargo();
    if let Some(commit) = workspace::commit() {
        tang.env("TANG_COMMIT", commit);
    }
    tang.args(["run", "--quiet", "--release", "--package", "tang-cli"]);
    tang.args(options).arg("--");
    tang
}

/// Runs `command` with this program's own input and output.
///
/// # Errors
///
/// If it cannot start, or exits with another status than zero.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", line(command)))?;
    ensure!(status.success(), "`{}` failed: {status}", line(command));
    Ok(())
}

/// The standard output of `command`; its standard error passes through.
///
/// # Errors
///
/// If it cannot start, exits with another status than zero, or writes something else than UTF-8.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", line(command)))?;
    let status = output.status;
    ensure!(status.success(), "`{}` failed: {status}", line(command));
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` wrote something else than UTF-8", line(command)))
}

/// The command line as a user would type it.
fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    std::iter::once(program.file_stem().unwrap_or(program.as_os_str()))
        .chain(command.get_args())
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_line_and_the_status() {
        let error = run(cargo().args(["--color", "never", "no-such-chore"]))
            .expect_err("cargo has no such command")
            .to_string();
        assert!(
            error.starts_with("`cargo --color never no-such-chore` failed: exit status: 101"),
            "{error}"
        );
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = output(&mut command("no-such-program")).expect_err("there is none");
        assert_eq!(error.to_string(), "cannot start `no-such-program`");
    }

    #[test]
    fn commands_start_at_the_root() {
        let place = output(cargo().args(["locate-project", "--workspace"])).unwrap();
        assert!(place.contains(&workspace::root().join("Cargo.toml").display().to_string()));
    }
}
