//! stdout and stderr.

pub mod error_message;
pub mod placed_word;
pub mod poem_output;
pub mod poem_writer;
pub mod print;
pub mod progress;
pub mod publish;
pub mod usage_error;
pub mod verdict_output;

pub use self::{
    error_message::{NotBuilt, error_message, is_closed_pipe},
    placed_word::{PlacedWord, PlacedWordJson},
    poem_output::{Breaks, PoemJson, PoemOutput, poem_text},
    poem_writer::{Assignment, write_poems},
    print::{note, print_path, write_json},
    progress::CorpusBars,
    publish::{print, publish},
    usage_error::{USAGE, usage_error},
    verdict_output::{JudgedPoem, judge, write_poem, write_summary},
};
