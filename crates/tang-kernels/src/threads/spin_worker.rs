//! A second thread that waits awake.
//!
//! A token takes a tenth of a millisecond, not much more than it takes to wake a thread. So the
//! helper stays awake for a moment after each piece of work: while a text is decoded it is always
//! there, and soon after it sleeps.

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

/// How long the helper waits for work until it sleeps: longer than the draw of a token takes.
const AWAKE: Duration = Duration::from_micros(150);

/// How long work lies there until the caller does it without the helper.
const PATIENCE: Duration = Duration::from_micros(25);

/// Where more than this and half of the time was spent waiting, the helper has no processor of its
/// own: another program has it.
const LATE: Duration = Duration::from_micros(100);

/// Pieces of work that are then done without it, and where it did not come in time.
const ALONE: usize = 30;

/// Turns of waiting between two looks at the clock, and two offers of the processor to others.
const TURNS_PER_LOOK: usize = 64;

/// Work that is lent to the helper.
type Work<'a> = &'a mut (dyn FnMut() + Send + 'a);

/// What a side that waits for the other one panics with, if that one did.
pub(crate) struct OtherPanicked;

// What is on the desk, and who changes it:
//
//     NOTHING or RESULT --caller posts--> WORK --helper takes--> WORK_IN_HAND --helper ends--> RESULT
//                                         WORK --caller takes back--> NOTHING
const NOTHING: u8 = 0;
const WORK: u8 = 1;
const WORK_IN_HAND: u8 = 2;
const RESULT: u8 = 3;

/// What the two threads share.
#[derive(Default)]
struct Desk {
    work: Mutex<Option<Work<'static>>>,
    /// With what the work panicked.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    state: AtomicU8,
    asleep: AtomicBool,
}

struct Helper {
    desk: Arc<Desk>,
    thread: Thread,
    /// Pieces of work to do without it.
    alone: usize,
}

/// None where the system gives no thread.
static HELPER: LazyLock<Option<Mutex<Helper>>> = LazyLock::new(|| {
    let desk = Arc::new(Desk {
        // Until it has begun.
        asleep: true.into(),
        ..Desk::default()
    });
    let own = Arc::clone(&desk);
    let thread = thread::Builder::new().name("helper".to_owned());
    let thread = thread.spawn(move || own.serve()).ok()?;
    Some(Mutex::new(Helper {
        desk,
        thread: thread.thread().clone(),
        alone: 0,
    }))
});

/// Does `own` here and `other` on the helper, at the same time: true. Or nothing, if the helper is not
/// there at once: false. `own` says how long the two
/// waited for each other.
///
/// # Panics
///
/// If one of the two does, once both have ended.
pub(crate) fn both(own: impl FnOnce() -> Duration, other: Work<'_>) -> bool {
    let Some(mut helper) = free_helper() else {
        return false;
    };
    if helper.alone > 0 {
        helper.alone -= 1;
        return false;
    }
    if helper.desk.asleep.load(Ordering::SeqCst) {
        // Waking takes longer than the work; for the next piece it is there.
        helper.thread.unpark();
        return false;
    }
    let started = Instant::now();
    // SAFETY: `other` is borrowed until this function ends, and the helper uses it between taking it
    // from the desk and leaving `RESULT` there. This function ends only where it has taken the work
    // back itself, so that the helper never has it, or has seen `RESULT` (stored with Release, loaded
    // with Acquire); that of earlier work it cannot see, for its own store of `WORK` comes after that.
    // Nothing in between can unwind past that: a panic of `own` is caught, and posting
    // and waiting do not panic.
    #[allow(unsafe_code)]
    let work = unsafe { mem::transmute::<Work<'_>, Work<'static>>(other) };
    helper.desk.post(work);
    if !helper.desk.is_taken_within(PATIENCE) && helper.desk.take_back() {
        // Asleep, it is woken the next time.
        if !helper.desk.asleep.load(Ordering::SeqCst) {
            helper.alone = ALONE;
        }
        return false;
    }
    let own = catch_unwind(AssertUnwindSafe(own));
    let result = || (helper.desk.state.load(Ordering::Acquire) == RESULT).then_some(());
    let ((), waited) = wait_for(result);
    let other = lock(&helper.desk.panic).take();
    let waited = waited + *own.as_ref().unwrap_or(&Duration::ZERO);
    if waited > LATE + started.elapsed() / 2 {
        helper.alone = ALONE;
    }
    drop(helper);
    match (own, other) {
        (Err(own), Some(other)) if own.is::<OtherPanicked>() => resume_unwind(other),
        (Err(panic), _) | (_, Some(panic)) => resume_unwind(panic),
        (Ok(_), None) => true,
    }
}

/// None if there is none, or it works for somebody.
fn free_helper() -> Option<MutexGuard<'static, Helper>> {
    match HELPER.as_ref()?.try_lock() {
        Ok(helper) => Some(helper),
        Err(TryLockError::Poisoned(helper)) => Some(helper.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// What `look` finds at last, and how long that took; nothing if it was soon.
pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> (T, Duration) {
    let mut found = || {
        (0..TURNS_PER_LOOK).find_map(|_| {
            let found = look();
            if found.is_none() {
                hint::spin_loop();
            }
            found
        })
    };
    if let Some(found) = found() {
        return (found, Duration::ZERO);
    }
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return (found, started.elapsed());
        }
        // Whoever is waited for may need this processor.
        thread::yield_now();
    }
}

impl Desk {
    fn post(&self, work: Work<'static>) {
        // Nobody takes it before the state says that it is there: a result would be overwritten.
        let mut desk = lock(&self.work);
        *desk = Some(work);
        self.state.store(WORK, Ordering::SeqCst);
    }

    fn is_taken_within(&self, patience: Duration) -> bool {
        let posted = Instant::now();
        loop {
            for _ in 0..TURNS_PER_LOOK {
                if self.state.load(Ordering::Relaxed) != WORK {
                    return true;
                }
                hint::spin_loop();
            }
            if posted.elapsed() > patience {
                return false;
            }
        }
    }

    /// Whether the helper had not taken the work yet.
    fn take_back(&self) -> bool {
        let mut desk = lock(&self.work);
        let is_there = desk.take().is_some();
        if is_there {
            self.state.store(NOTHING, Ordering::SeqCst);
        }
        is_there
    }

    fn take(&self) -> Option<Work<'static>> {
        let mut desk = lock(&self.work);
        let work = desk.take();
        if work.is_some() {
            self.state.store(WORK_IN_HAND, Ordering::Relaxed);
        }
        work
    }

    fn serve(&self) {
        self.asleep.store(false, Ordering::SeqCst);
        let mut idle_since = Instant::now();
        loop {
            let found = (0..TURNS_PER_LOOK).any(|_| {
                hint::spin_loop();
                self.state.load(Ordering::Relaxed) == WORK
            });
            if let Some(work) = found.then(|| self.take()).flatten() {
                *lock(&self.panic) = catch_unwind(AssertUnwindSafe(work)).err();
                self.state.store(RESULT, Ordering::Release);
                idle_since = Instant::now();
            } else if idle_since.elapsed() < AWAKE {
                // It may have been woken on the processor of the thread that it waits for: that one goes
                // on at once, and as both want to run there, the system moves one of them away.
                thread::yield_now();
            } else {
                self.asleep.store(true, Ordering::SeqCst);
                // Work that was posted before it could be seen that the helper sleeps.
                if self.state.load(Ordering::SeqCst) != WORK {
                    thread::park();
                }
                self.asleep.store(false, Ordering::SeqCst);
                idle_since = Instant::now();
            }
        }
    }
}

/// No work panics with a lock held, so what is in the lock is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds up borrowed numbers in two halves, and says whether the helper took part.
    fn sum(numbers: &[u32]) -> (u32, bool) {
        let (left, right) = numbers.split_at(numbers.len() / 2);
        let (mut own, mut other) = (0, 0);
        let helped = both(
            || {
                own = left.iter().sum();
                Duration::ZERO
            },
            &mut || other = right.iter().sum(),
        );
        if helped {
            return (own + other, true);
        }
        assert_eq!((own, other), (0, 0), "something was done");
        (numbers.iter().sum(), false)
    }

    /// Runs `work` until it gives something: with one processor for both,
    /// the helper is late at first.
    fn until<T>(mut work: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(done) = work() {
                return done;
            }
            thread::yield_now();
        }
    }

    /// Waits until the helper takes part.
    fn wait_for_help() {
        let numbers: Vec<u32> = (0..100).collect();
        until(|| {
            let (sum, helped) = sum(&numbers);
            assert_eq!(sum, 4950);
            helped.then_some(())
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
    fn awake_asleep_or_busy_all_work_is_done() {
        wait_for_help();
        thread::sleep(Duration::from_millis(20));
        wait_for_help();
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
    fn a_panic_of_either_is_passed_on_and_the_helper_stays() {
        assert_eq!(panic_of("own", ""), "own");
        assert_eq!(panic_of("", "other"), "other");
        assert_eq!(panic_of("own", "other"), "own");
        wait_for_help();
    }

    #[test]
    fn work_within_work_is_done_without_the_helper() {
        let nested = Mutex::new(Vec::new());
        let inner = || {
            let helped = both(|| unreachable!(), &mut || unreachable!());
            lock(&nested).push(helped);
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
