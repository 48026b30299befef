//! stdout and stderr.

pub mod error_message;
pub mod poem_output;
pub mod poem_writer;
pub mod print;
pub mod progress;
pub mod shell_word;
pub mod usage_error;
pub mod verdict_output;
