//! `tang`: build the corpus, train a model, write poems with it, measure it.
//!
//! Data goes to stdout, progress and notes to stderr. The exit code is 0, or 1 after an error, 2
//! after wrong usage, 130 after an interrupt; `tang check` says with 1 that a poem is wrong, and with 2
//! that there is none to read.

use std::process::ExitCode;

use clap::FromArgMatches;
use tang_corpus::CorpusError;

use crate::{
    commands::Command,
    commands::command_line,
    output::{NotBuilt, USAGE, error_message, is_closed_pipe, note, usage_error},
    system::INTERRUPTED,
};

mod args;
mod commands;
mod input;
mod model;
mod output;
mod system;
#[cfg(feature = "train")]
mod training;
#[cfg(not(feature = "train"))]
#[path = "without_training.rs"]
mod training;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = command_line().try_get_matches();
    let command = match matches.and_then(|matches| Command::from_arg_matches(&matches)) {
        Ok(command) => command,
        Err(error) => return usage_error(error),
    };
    match command.run() {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            note(format_args!("error: {}", error_message(&error)));
            match error.downcast_ref() {
                Some(CorpusError::Interrupted) => ExitCode::from(INTERRUPTED),
                _ if error.is::<NotBuilt>() => ExitCode::from(USAGE),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
