//! The all-reduce of two shards of a computation.

use std::{
    mem,
    panic::resume_unwind,
    slice,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    Threads,
    spin_worker::{OtherPanicked, both, wait_for},
};

/// Count of shards that a computation is cut into.
const SHARDS: usize = 2;

/// Least count of multiplications between two rounds for which a second thread is faster.
const WORTH_A_THREAD: usize = 1 << 13;

/// All-reduce in rounds: in each, every shard sends its part of a sum and waits for the parts of the others.
#[derive(Debug)]
pub struct AllReduce {
    /// `[rounds, SHARDS]`
    parts: Vec<Part>,
    panicked: AtomicBool,
    /// Nanoseconds that the shards waited for each other.
    waited: AtomicU64,
}

/// Padded, so that no two parts share a cache line, which two processors would write.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part(OnceLock<Vec<f32>>);

impl AllReduce {
    /// An all-reduce of `rounds` rounds.
    pub fn new(rounds: usize) -> Self {
        Self {
            parts: (0..rounds * SHARDS).map(|_| Part::default()).collect(),
            panicked: AtomicBool::new(false),
            waited: AtomicU64::new(0),
        }
    }

    /// Sends the part of a shard in a round.
    ///
    /// # Panics
    ///
    /// If it was sent before, or there is no such round or shard.
    pub fn send(&self, round: usize, shard: usize, numbers: Vec<f32>) {
        let Part(part) = self.part(round, shard);
        part.set(numbers).expect("a shard sends once per round");
    }

    /// `x[i] += sum over shards of part[shard, i]`, in the order of the shards: so the sum is the
    /// same bits on one thread and on two. An empty part counts as 0.
    ///
    /// # Panics
    ///
    /// If another shard does, or there is no such round.
    pub fn add_to(&self, x: &mut [f32], round: usize) {
        for shard in 0..SHARDS {
            for (x, part) in x.iter_mut().zip(self.wait(round, shard)) {
                *x += part;
            }
        }
    }

    fn wait(&self, round: usize, shard: usize) -> &[f32] {
        let Part(part) = self.part(round, shard);
        let (numbers, waited) = wait_for(|| {
            let sent = part.get();
            if sent.is_none() && self.panicked.load(Ordering::Relaxed) {
                resume_unwind(Box::new(OtherPanicked));
            }
            sent
        });
        if !waited.is_zero() {
            self.waited.fetch_add(waited.as_nanos() as u64, Ordering::Relaxed);
        }
        numbers
    }

    fn part(&self, round: usize, shard: usize) -> &Part {
        assert!(shard < SHARDS, "shard {shard} of {SHARDS}");
        &self.parts[round * SHARDS + shard]
    }
}

/// Does `work` on both shards of a computation: each on its own thread, if there are several
/// `threads`, the worker is free and the count of `multiplications` between two rounds is worth it;
/// otherwise both here. `work` must give the same results either way: shards exchange data only by
/// the all-reduce.
///
/// # Panics
///
/// If `work` does.
pub fn on_shards<S: Send>(
    shards: &mut [S; SHARDS],
    rounds: usize,
    multiplications: usize,
    threads: Threads,
    work: impl Fn(&mut [S], &AllReduce) + Sync,
) {
    let all_reduce = AllReduce::new(rounds);
    let watched = |shard: &mut S| {
        let watch = Watch(&all_reduce.panicked);
        work(slice::from_mut(shard), &all_reduce);
        mem::forget(watch);
    };
    let [own, other] = shards;
    let shared = threads != Threads::ONE
        && multiplications >= WORTH_A_THREAD
        && both(
            || {
                watched(own);
                Duration::from_nanos(all_reduce.waited.load(Ordering::Relaxed))
            },
            &mut || watched(other),
        );
    if !shared {
        work(shards, &all_reduce);
    }
}

/// Reports a panic to the other shard when it is dropped; forgotten if there was none.
struct Watch<'a>(&'a AtomicBool);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        thread::{self, ThreadId},
    };

    use super::*;

    const ROUNDS: usize = 20;

    struct Shard {
        index: usize,
        sum: f32,
        thread: Option<ThreadId>,
    }

    fn shards() -> [Shard; 2] {
        [0, 1].map(|index| Shard { index, sum: 1.0 + index as f32, thread: None })
    }

    /// In each round, each shard takes the sums of both. In this order they round as they do.
    fn add_up(shards: &mut [Shard], all_reduce: &AllReduce) {
        for round in 0..ROUNDS {
            for shard in shards.iter_mut() {
                shard.thread = Some(thread::current().id());
                all_reduce.send(round, shard.index, vec![shard.sum * 0.3]);
            }
            for shard in shards.iter_mut() {
                let [first, second] = [0, 1].map(|index| all_reduce.wait(round, index)[0]);
                shard.sum = shard.sum * 0.7 + first + second;
            }
        }
    }

    /// Until both took part.
    fn on_two_threads(work: impl Fn(&mut [Shard], &AllReduce) + Sync) -> [Shard; 2] {
        loop {
            let mut shards = shards();
            on_shards(&mut shards, ROUNDS, usize::MAX, Threads::new(2), &work);
            if shards[0].thread != shards[1].thread {
                return shards;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn two_threads_give_what_one_gives() {
        let mut alone = shards();
        on_shards(&mut alone, ROUNDS, usize::MAX, Threads::ONE, add_up);
        assert_eq!(alone[0].thread, alone[1].thread);
        let pair = on_two_threads(add_up);
        for (alone, pair) in alone.iter().zip(&pair) {
            assert_eq!(alone.sum.to_bits(), pair.sum.to_bits());
        }
        assert_ne!(pair[0].sum, pair[1].sum);
    }

    #[test]
    fn nobody_waits_for_a_shard_that_panicked() {
        for bad in [0, 1] {
            let work = |shards: &mut [Shard], all_reduce: &AllReduce| {
                if let [shard] = shards
                    && shard.index == bad
                {
                    resume_unwind(Box::new(format!("shard {bad}")));
                }
                add_up(shards, all_reduce);
            };
            let panic = catch_unwind(AssertUnwindSafe(|| on_two_threads(work))).err();
            let text = panic.unwrap().downcast::<String>().unwrap();
            assert_eq!(*text, format!("shard {bad}"));
        }
        on_two_threads(add_up);
    }
}
