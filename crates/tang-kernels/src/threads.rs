//! Threads, and the work that two of them share.

pub(crate) mod all_reduce;
pub(crate) mod spin_worker;

use rayon::prelude::*;

/// The count of threads that a computation may use, at least one. The result never depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(usize);

impl Threads {
    /// The caller's thread alone.
    pub const ONE: Self = Self(1);

    /// `count` threads; 0 counts as 1.
    pub const fn new(count: usize) -> Self {
        Self(if count == 0 { 1 } else { count })
    }

    /// The threads of Rayon: one per processor, or the count in its environment variable.
    pub fn available() -> Self {
        Self::new(rayon::current_num_threads())
    }

    /// The count of threads, at least 1.
    pub const fn count(self) -> usize {
        self.0
    }

    /// Applies `work` to each item, here or on several threads, and keeps the order.
    pub fn map<T: Send, R: Send>(
        self,
        items: Vec<T>,
        work: impl Fn(T) -> R + Sync + Send,
    ) -> Vec<R> {
        if self == Self::ONE || items.len() < 2 {
            items.into_iter().map(work).collect()
        } else {
            items.into_par_iter().map(work).collect()
        }
    }
}
