//! `tang`: build the corpus, train a model, write poems with it, measure it.
//!
//! Data goes to stdout, progress and notes to stderr. The exit code is 0, or 1 after an error, 2
//! after wrong usage, 130 after an interrupt; `tang check` says with 1 that a poem is wrong, and with 2
//! that there is none to read.

use std::process::ExitCode;

use clap::FromArgMatches;
use tang_corpus::CorpusError;

use crate::{
    command_line::{Cli, command_line},
    error_message::{error_message, is_closed_pipe},
    interrupt::INTERRUPTED,
    note::note,
    usage_error::usage_error,
};

mod bench_output;
mod command_line;
mod commands;
mod corpus_build;
mod device_args;
mod error_message;
mod example_heads;
mod given;
mod interrupt;
mod json_output;
mod lab_model;
mod loaded_model;
mod note;
mod number;
mod path_output;
mod poem_generation;
mod poem_input;
mod poem_output;
mod poem_text;
mod progress;
mod rule_args;
mod sampling_args;
mod search_args;
mod setting_args;
mod shell_word;
mod source_commit;
mod stop_request;
mod threads;
mod training_environment;
mod training_plan;
mod training_watch;
mod usage_error;
mod user_text;
mod verdict_output;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = command_line().try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return usage_error(error),
    };
    match cli.command.run() {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            note(format_args!("error: {}", error_message(&error)));
            match error.downcast_ref() {
                Some(CorpusError::Interrupted) => ExitCode::from(INTERRUPTED),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
