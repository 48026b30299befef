//! A second thread that waits awake.
//!
//! The products of one token take a few microseconds each, less than it takes to wake a thread. So
//! the helper stays awake for a moment after each piece of work: while a text is decoded it is
//! always there, and soon after it sleeps.

use std::{
    hint,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long the helper waits for work until it sleeps: longer than the draw of a token takes.
const AWAKE: Duration = Duration::from_micros(150);

/// Where both parts take this much longer than one after the other would have, the helper has no
/// processor of its own: another program has it.
const LATE: Duration = Duration::from_micros(100);

/// Pieces of work that are then done alone.
const ALONE: usize = 250;

/// Turns of waiting between two looks at the clock.
const TURNS_PER_LOOK: usize = 64;

/// Turns of waiting for a result until the processor is offered to the helper.
const TURNS_UNTIL_YIELD: usize = 4_096;

type Work = Box<dyn FnOnce() -> Vec<f32> + Send>;

/// What the two threads share.
#[derive(Default)]
struct Desk {
    work: Mutex<Option<Work>>,
    result: Mutex<Option<Vec<f32>>>,
    has_work: AtomicBool,
    has_result: AtomicBool,
    asleep: AtomicBool,
}

struct Helper {
    desk: Arc<Desk>,
    thread: JoinHandle<()>,
    /// Pieces of work to do without it.
    alone: usize,
}

/// None where the system gives no thread.
static HELPER: LazyLock<Option<Mutex<Helper>>> = LazyLock::new(|| {
    let desk = Arc::new(Desk::default());
    let own = Arc::clone(&desk);
    let thread = thread::Builder::new().name("helper".to_owned());
    let thread = thread.spawn(move || own.serve()).ok()?;
    Some(Mutex::new(Helper {
        desk,
        thread,
        alone: 0,
    }))
});

/// Does `own` here and `other` on the helper, at the same time, and gives the result of `other`;
/// both here, if the helper is busy or the program is kept to one thread.
pub(crate) fn both(
    own: impl FnOnce(),
    other: impl FnOnce() -> Vec<f32> + Send + 'static,
) -> Vec<f32> {
    let mut helper = match rayon::current_num_threads() {
        1 => None,
        _ => HELPER.as_ref().and_then(|helper| helper.try_lock().ok()),
    };
    if let Some(helper) = &mut helper
        && helper.alone > 0
    {
        helper.alone -= 1;
    }
    let Some(mut helper) = helper.filter(|helper| helper.alone == 0) else {
        own();
        return other();
    };
    let started = Instant::now();
    helper.desk.post(Box::new(other));
    if helper.desk.asleep.load(Ordering::SeqCst) {
        helper.thread.thread().unpark();
    }
    let own_started = Instant::now();
    own();
    let own_time = own_started.elapsed();
    // A helper that still wakes up leaves the work here.
    let result = match helper.desk.take_work() {
        Some(work) => work(),
        None => helper.result(),
    };
    if started.elapsed() > 2 * own_time + LATE {
        helper.alone = ALONE;
    }
    result
}

impl Helper {
    fn result(&self) -> Vec<f32> {
        let mut turns = 0_usize;
        while !self.desk.has_result.swap(false, Ordering::SeqCst) {
            hint::spin_loop();
            turns += 1;
            if turns.is_multiple_of(TURNS_UNTIL_YIELD) {
                assert!(!self.thread.is_finished(), "the helper thread panicked");
                thread::yield_now();
            }
        }
        let result = lock(&self.desk.result).take();
        result.expect("the helper leaves a result before it says so")
    }
}

impl Desk {
    fn post(&self, work: Work) {
        *lock(&self.work) = Some(work);
        self.has_work.store(true, Ordering::SeqCst);
    }

    fn take_work(&self) -> Option<Work> {
        if !self.has_work.swap(false, Ordering::SeqCst) {
            return None;
        }
        lock(&self.work).take()
    }

    fn serve(&self) {
        let mut idle_since = Instant::now();
        loop {
            // Looking is cheaper than taking.
            let found = (0..TURNS_PER_LOOK).any(|_| {
                hint::spin_loop();
                self.has_work.load(Ordering::Relaxed)
            });
            if let Some(work) = found.then(|| self.take_work()).flatten() {
                *lock(&self.result) = Some(work());
                self.has_result.store(true, Ordering::SeqCst);
                idle_since = Instant::now();
            } else if idle_since.elapsed() < AWAKE {
                // It may have been woken on the processor of the thread that it waits for: that one goes
                // on at once, and as both want to run there, the system moves one of them away.
                thread::yield_now();
            } else {
                self.asleep.store(true, Ordering::SeqCst);
                // Work that was posted before it could be seen that the helper sleeps.
                if !self.has_work.load(Ordering::SeqCst) {
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

    fn sum_of_both(number: u16) -> f32 {
        let mut own = 0.0;
        let other = both(
            || own = f32::from(number),
            move || vec![2.0 * f32::from(number)],
        );
        own + other[0]
    }

    #[test]
    fn awake_asleep_or_busy_all_work_is_done() {
        for number in 0..2_000 {
            assert_eq!(sum_of_both(number), 3.0 * f32::from(number));
        }
        thread::sleep(Duration::from_millis(20));
        assert_eq!(sum_of_both(7), 21.0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..500 {
                        assert_eq!(sum_of_both(number), 3.0 * f32::from(number));
                    }
                });
            }
        });
    }
}
