//! Signals, threads and the environment.

pub mod source_commit;
pub mod stop_request;
pub mod threads;

pub use self::{
    source_commit::source_commit,
    stop_request::{INTERRUPTED, StopRequest},
    threads::start_threads,
};
