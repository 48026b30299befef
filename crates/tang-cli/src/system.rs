//! Signals, threads and the environment.

pub mod source_commit;
pub mod stop_request;
pub mod threads;

pub use self::{
    stop_request::{INTERRUPTED, StopRequest},
    threads::start_threads,
};
