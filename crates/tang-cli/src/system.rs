//! Signals, threads and the environment.

pub mod source_commit;
pub mod stop_request;
pub mod threads;
