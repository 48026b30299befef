//! An error and its causes as one message.

use std::io;

/// The messages of an error and all its causes, joined by colons. A cause that the message before
/// it quotes already is left out.
pub fn error_message(error: &anyhow::Error) -> String {
    // Whatever goes wrong with a file comes with its path; only stdout has none.
    if let Some(error) = error.downcast_ref::<io::Error>() {
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
    message
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

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
