//! Threads, and the work that two of them share.

pub(crate) mod all_reduce;
pub(crate) mod count;
pub(crate) mod spin_worker;
