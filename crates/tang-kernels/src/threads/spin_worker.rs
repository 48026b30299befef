//! A worker thread that spins for a moment between jobs instead of sleeping at once.
//!
//! A token takes a tenth of a millisecond, not much more than waking a thread takes. So the worker
//! stays awake for a moment after each job: while a text is decoded it is always ready, and soon after
//! it sleeps.

use std::{
    any::Any,
    hint, mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, TryLockError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// How long the worker waits for a job before it sleeps: longer than the draw of a token takes.
const AWAKE: Duration = Duration::from_micros(150);

/// How long the caller waits for the worker to take a job.
const PATIENCE: Duration = Duration::from_micros(25);

/// If waiting took more than this and half of the job, another program has the worker's processor.
const LATE: Duration = Duration::from_micros(100);

/// Count of jobs that the caller does alone after a late job, or after one that the worker did not
/// take.
const ALONE: usize = 30;

/// Count of spins between two checks of the clock, and between two yields.
const SPINS: usize = 64;

type Job<'a> = &'a mut (dyn FnMut() + Send + 'a);

/// The panic of a thread that waits for another one that panicked.
pub(crate) struct OtherPanicked;

// States of the slot, and who changes them:
//
//     EMPTY or DONE --caller posts--> POSTED --worker takes--> RUNNING --worker ends--> DONE
//                                     POSTED --caller takes back--> EMPTY
const EMPTY: u8 = 0;
const POSTED: u8 = 1;
const RUNNING: u8 = 2;
const DONE: u8 = 3;

/// The slot through which the caller hands a job to the worker.
struct Slot {
    job: Mutex<Option<Job<'static>>>,
    /// The panic of the last job.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    state: AtomicU8,
    asleep: AtomicBool,
}

struct Worker {
    slot: Arc<Slot>,
    thread: Thread,
    /// Count of jobs that the caller still does alone.
    alone: usize,
}

/// `None` if the system gives no thread.
static WORKER: LazyLock<Option<Mutex<Worker>>> = LazyLock::new(|| {
    let slot = Arc::new(Slot {
        job: Mutex::default(),
        panic: Mutex::default(),
        state: AtomicU8::new(EMPTY),
        // The worker counts as asleep until it has started.
        asleep: AtomicBool::new(true),
    });
    let own = Arc::clone(&slot);
    let thread = thread::Builder::new().name("spin worker".to_owned());
    let thread = thread.spawn(move || own.serve()).ok()?;
    Some(Mutex::new(Worker { slot, thread: thread.thread().clone(), alone: 0 }))
});

/// Runs `own` here and `other` on the worker at the same time, and returns true; runs neither and
/// returns false if the worker is not ready. `own` returns how long the two waited for each other.
///
/// # Panics
///
/// If one of the two does, once both have ended.
pub(crate) fn both(own: impl FnOnce() -> Duration, other: Job<'_>) -> bool {
    let Some(mut worker) = free_worker() else {
        return false;
    };
    if worker.alone > 0 {
        worker.alone -= 1;
        return false;
    }
    if worker.slot.asleep.load(Ordering::SeqCst) {
        // Waking takes longer than this job; the worker is ready for the next one.
        worker.thread.unpark();
        return false;
    }
    let started = Instant::now();
    // SAFETY: the borrow outlives every use of `other`:
    // (1) the worker uses the job only between `take` and its store of DONE;
    // (2) this function returns only after `take_back`, so that the worker never has the job, or after
    //     a load of DONE (stored with Release, loaded with Acquire);
    // (3) that DONE is not of an earlier job, since `post` has overwritten it with POSTED;
    // (4) nothing in between unwinds: a panic of `own` is caught, posting and waiting do not panic.
    #[allow(unsafe_code)]
    let job = unsafe { mem::transmute::<Job<'_>, Job<'static>>(other) };
    worker.slot.post(job);
    if !worker.slot.is_taken_within(PATIENCE) && worker.slot.take_back() {
        // A worker that fell asleep is woken the next time.
        if !worker.slot.asleep.load(Ordering::SeqCst) {
            worker.alone = ALONE;
        }
        return false;
    }
    let own = catch_unwind(AssertUnwindSafe(own));
    let is_done = || (worker.slot.state.load(Ordering::Acquire) == DONE).then_some(());
    let ((), waited) = wait_for(is_done);
    let other = lock(&worker.slot.panic).take();
    let waited = waited + *own.as_ref().unwrap_or(&Duration::ZERO);
    if waited > LATE + started.elapsed() / 2 {
        worker.alone = ALONE;
    }
    drop(worker);
    match (own, other) {
        (Err(own), Some(other)) if own.is::<OtherPanicked>() => resume_unwind(other),
        (Err(panic), _) | (_, Some(panic)) => resume_unwind(panic),
        (Ok(_), None) => true,
    }
}

/// `None` if there is no worker, or if another caller uses it.
fn free_worker() -> Option<MutexGuard<'static, Worker>> {
    match WORKER.as_ref()?.try_lock() {
        Ok(worker) => Some(worker),
        Err(TryLockError::Poisoned(worker)) => Some(worker.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Spins until `look` returns something; returns that and the time waited, zero if the first
/// [`SPINS`] spins were enough.
pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> (T, Duration) {
    if let Some(found) = spin(&mut look) {
        return (found, Duration::ZERO);
    }
    let started = Instant::now();
    loop {
        if let Some(found) = spin(&mut look) {
            return (found, started.elapsed());
        }
        // The other thread may need this processor.
        thread::yield_now();
    }
}

/// Calls `look` at most [`SPINS`] times.
fn spin<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    (0..SPINS).find_map(|_| {
        let found = look();
        if found.is_none() {
            hint::spin_loop();
        }
        found
    })
}

impl Slot {
    fn post(&self, new: Job<'static>) {
        // Under the lock: if the worker took the job before the state is POSTED, its DONE would be lost.
        let mut job = lock(&self.job);
        *job = Some(new);
        self.state.store(POSTED, Ordering::SeqCst);
    }

    fn is_taken_within(&self, patience: Duration) -> bool {
        let posted = Instant::now();
        let is_taken = || (self.state.load(Ordering::Relaxed) != POSTED).then_some(());
        while spin(is_taken).is_none() {
            if posted.elapsed() > patience {
                return false;
            }
        }
        true
    }

    /// Whether the job was still there.
    fn take_back(&self) -> bool {
        self.take(EMPTY).is_some()
    }

    /// Takes the job, if it is there, and sets the state to `next`.
    fn take(&self, next: u8) -> Option<Job<'static>> {
        let mut job = lock(&self.job);
        let taken = job.take();
        if taken.is_some() {
            self.state.store(next, Ordering::SeqCst);
        }
        taken
    }

    fn serve(&self) {
        self.asleep.store(false, Ordering::SeqCst);
        let mut idle_since = Instant::now();
        loop {
            let is_posted = || (self.state.load(Ordering::Relaxed) == POSTED).then_some(());
            if let Some(job) = spin(is_posted).and_then(|()| self.take(RUNNING)) {
                *lock(&self.panic) = catch_unwind(AssertUnwindSafe(job)).err();
                self.state.store(DONE, Ordering::Release);
                idle_since = Instant::now();
            } else if idle_since.elapsed() < AWAKE {
                // The worker may have been woken on the processor of the caller: that one goes on at once,
                // and as both want to run there, the system moves one of them away.
                thread::yield_now();
            } else {
                self.asleep.store(true, Ordering::SeqCst);
                // A job may have been posted before the caller could see that the worker sleeps.
                if self.state.load(Ordering::SeqCst) != POSTED {
                    thread::park();
                }
                self.asleep.store(false, Ordering::SeqCst);
                idle_since = Instant::now();
            }
        }
    }
}

/// No job runs under the lock, so a poisoned lock still has a complete value.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds up borrowed numbers in two halves, and says whether the worker took part.
    fn sum(numbers: &[u32]) -> (u32, bool) {
        let (left, right) = numbers.split_at(numbers.len() / 2);
        let (mut own, mut other) = (0, 0);
        let shared = both(
            || {
                own = left.iter().sum();
                Duration::ZERO
            },
            &mut || other = right.iter().sum(),
        );
        if shared {
            return (own + other, true);
        }
        assert_eq!((own, other), (0, 0), "something was done");
        (numbers.iter().sum(), false)
    }

    /// Runs `work` until it gives something: with one processor for both,
    /// the worker is late at first.
    fn until<T>(mut work: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(done) = work() {
                return done;
            }
            thread::yield_now();
        }
    }

    /// Waits until the worker takes part.
    fn wait_for_the_worker() {
        let numbers: Vec<u32> = (0..100).collect();
        until(|| {
            let (sum, shared) = sum(&numbers);
            assert_eq!(sum, 4950);
            shared.then_some(())
        });
    }

    fn panic_of(own: &'static str, other: &'static str) -> String {
        let panicking = |text: &str| {
            if !text.is_empty() {
                resume_unwind(Box::new(text.to_owned()));
            }
        };
        let work = || {
            both(
                || {
                    panicking(own);
                    Duration::ZERO
                },
                &mut || panicking(other),
            )
        };
        // Asleep or busy, nothing is done.
        until(|| match catch_unwind(AssertUnwindSafe(work)) {
            Ok(_) => None,
            Err(panic) => Some(*panic.downcast::<String>().unwrap()),
        })
    }

    #[test]
    fn awake_asleep_or_busy_every_job_is_done() {
        wait_for_the_worker();
        thread::sleep(Duration::from_millis(20));
        wait_for_the_worker();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let numbers: Vec<u32> = (0..1000).collect();
                    for end in 0..1000 {
                        let (sum, _) = sum(&numbers[..end]);
                        assert_eq!(sum, (0..end as u32).sum());
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_of_either_is_passed_on_and_the_worker_stays() {
        assert_eq!(panic_of("own", ""), "own");
        assert_eq!(panic_of("", "other"), "other");
        assert_eq!(panic_of("own", "other"), "own");
        wait_for_the_worker();
    }

    #[test]
    fn a_job_within_a_job_is_done_without_the_worker() {
        let nested = Mutex::new(Vec::new());
        let inner = || {
            let shared = both(|| unreachable!(), &mut || unreachable!());
            lock(&nested).push(shared);
        };
        let outer = || {
            both(
                || {
                    inner();
                    Duration::ZERO
                },
                &mut || inner(),
            )
        };
        until(|| outer().then_some(()));
        assert_eq!(*lock(&nested), [false, false]);
    }
}
