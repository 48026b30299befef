//! `tang`: build the corpus, train a model, write poems with it, measure it.
//!
//! Data goes to stdout, progress and notes to stderr. The exit code is 0, or 1 after an error, 2
//! after wrong usage, 130 after an interrupt; `tang check` says with 1 that a poem is wrong, and with 2
//! that there is none to read.

use std::{io, process::ExitCode};

use clap::Parser;

use crate::{
    error_message::{error_message, stdout_error},
    note::note,
};

mod bench_output;
mod commands;
mod corpus_build;
mod device_args;
mod error_message;
mod lab_model;
mod loaded_model;
mod note;
mod peer;
mod poem_generation;
mod poem_input;
mod poem_output;
mod poem_text;
mod progress;
mod rule_args;
mod sampling_args;
mod search_args;
mod setting_args;
mod source_commit;
mod training_environment;
mod training_plan;
mod training_race;
mod training_watch;
mod user_text;
mod verdict_output;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Regulated Tang verse from a small GPT: acrostics, continuations, fixed forms
#[derive(Parser)]
#[command(name = "tang", version)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            note(format_args!("error: {}", error_message(&error)));
            ExitCode::FAILURE
        }
    }
}

/// Whether the reader of stdout has had enough, as `head` has.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    stdout_error(error).is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
