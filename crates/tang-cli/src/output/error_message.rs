//! An error and its causes as one message.

use std::io;

use tang_checkpoint::ModelError;
use tang_corpus::CorpusError;
use tang_generate::GenerateError;

use crate::training;

/// A command or a device is not in this program.
#[derive(Debug, thiserror::Error)]
#[error(
    "this program was built without training and GPUs: build it with `cargo build --release`, which has the \
     feature `train`; for a GPU with `--features wgpu`"
)]
pub struct NotBuilt;

/// The messages of an error and all its causes, joined by colons, and the flag that helps. A cause that the
/// message before it quotes already is left out.
pub fn error_message(error: &anyhow::Error) -> String {
    if let Some(error) = stdout_error(error) {
        return format!("cannot write to stdout: {error}");
    }
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    match hint(error) {
        Some(hint) => format!("{message} ({hint})"),
        None => message,
    }
}

/// The command or flag that helps: libraries name none.
fn hint(error: &anyhow::Error) -> Option<&'static str> {
    match error.downcast_ref() {
        Some(GenerateError::Unkept { .. }) => return Some("--relax does so"),
        Some(GenerateError::NoPlace { rules, .. }) if !rules.is_empty() => {
            return Some("--relax does so");
        }
        _ => {}
    }
    if let Some(ModelError::NoModel { .. }) = error.downcast_ref() {
        return Some("`tang train`, --checkpoint DIR");
    }
    match error.downcast_ref() {
        Some(CorpusError::NotBuilt(_)) => Some("`tang data` builds it; --corpus names another one"),
        Some(CorpusError::Foreign(_)) => Some("--out names another folder"),
        Some(CorpusError::Fetch(_) | CorpusError::Changed(_)) => {
            Some("`tang data --from PATH` reads other poems")
        }
        _ => training::hint(error),
    }
}

/// The error of stdout, if stdout failed. An error of a file has a context with its path, so an
/// error of the system without context is that of stdout.
fn stdout_error(error: &anyhow::Error) -> Option<&io::Error> {
    // Only the outermost error is examined: `downcast_ref` of the whole also finds a cause with a
    // context.
    error.chain().next()?.downcast_ref()
}

/// Whether the reader of stdout has closed it, as `head` does.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    stdout_error(error).is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn only_an_error_without_a_path_is_that_of_stdout() {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let bare = anyhow::Error::from(denied());
        assert!(stdout_error(&bare).is_some());
        assert_eq!(error_message(&bare), "cannot write to stdout: permission denied");
        let file = Err::<(), _>(denied()).with_context(|| "cannot write report.md").unwrap_err();
        assert!(stdout_error(&file).is_none());
        assert_eq!(error_message(&file), "cannot write report.md: permission denied");
    }

    #[test]
    fn a_flag_that_helps_is_named() {
        let exemptions = Vec::new();
        for (error, hint) in [
            (GenerateError::Unkept { exemptions }.into(), " (--relax does so)"),
            (
                CorpusError::NotBuilt("data".into()).into(),
                " (`tang data` builds it; --corpus names another one)",
            ),
            (CorpusError::Foreign("val.txt".into()).into(), " (--out names another folder)"),
            (
                CorpusError::Fetch("no npm".into()).into(),
                " (`tang data --from PATH` reads other poems)",
            ),
        ] {
            let message = error_message(&error);
            assert!(message.ends_with(hint), "{message}");
        }
    }

    #[test]
    fn causes_are_joined_once_each() {
        let error = Err::<(), _>(anyhow!("no such file"))
            .context("cannot read poem.txt: no such file")
            .context("no corpus");
        assert_eq!(
            error_message(&error.unwrap_err()),
            "no corpus: cannot read poem.txt: no such file"
        );
    }
}
