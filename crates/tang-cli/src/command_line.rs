//! The command line.

use clap::{Command, CommandFactory, Parser};

use crate::commands;

/// Regulated Tang verse from a small GPT: acrostics, continuations, fixed forms
#[derive(Parser)]
#[command(name = "tang", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: commands::Command,
}

/// All commands and flags. What looks like a number below 0 is a value, and no flag that nobody knows.
pub fn command_line() -> Command {
    Cli::command().mut_subcommands(|command| {
        command.mut_args(|argument| argument.allow_negative_numbers(true))
    })
}
