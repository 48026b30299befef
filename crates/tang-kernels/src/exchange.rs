//! What two sides of a computation tell each other.

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

use crate::helper::{OtherPanicked, both, wait_for};

/// Sides that a computation is cut into, at most.
const SIDES: usize = 2;

/// Multiplications between two exchanges below which a second thread costs more than it gives.
const WORTH_A_THREAD: usize = 1 << 13;

/// Numbers that each side of a computation gives in some rounds, so that the others can see them.
#[derive(Debug)]
pub struct Exchange {
    /// `[rounds, SIDES]`
    places: Vec<Place>,
    panicked: AtomicBool,
    /// Nanoseconds that sides waited for others.
    waited: AtomicU64,
}

/// Apart from the others, which other processors write.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Place(OnceLock<Vec<f32>>);

impl Exchange {
    /// One of so many rounds.
    pub fn new(rounds: usize) -> Self {
        Self {
            places: (0..rounds * SIDES).map(|_| Place::default()).collect(),
            panicked: AtomicBool::new(false),
            waited: AtomicU64::new(0),
        }
    }

    /// Leaves what a side gives in a round.
    ///
    /// # Panics
    ///
    /// If it has given something, or there is no such round or side.
    pub fn give(&self, round: usize, side: usize, numbers: Vec<f32>) {
        let Place(place) = self.place(round, side);
        place.set(numbers).expect("a side gives once a round");
    }

    /// Waits for what a side gives in a round.
    ///
    /// # Panics
    ///
    /// If the other side does, or there is no such round or side.
    pub fn given(&self, round: usize, side: usize) -> &[f32] {
        let Place(place) = self.place(round, side);
        let (numbers, waited) = wait_for(|| {
            let given = place.get();
            if given.is_none() && self.panicked.load(Ordering::Relaxed) {
                resume_unwind(Box::new(OtherPanicked));
            }
            given
        });
        if !waited.is_zero() {
            self.waited
                .fetch_add(waited.as_nanos() as u64, Ordering::Relaxed);
        }
        numbers
    }

    fn place(&self, round: usize, side: usize) -> &Place {
        assert!(side < SIDES, "side {side} of {SIDES}");
        &self.places[round * SIDES + side]
    }
}

/// Does `work` on both sides of a computation: on each on a thread of its own, where a second one is
/// free and `multiplications` (between two exchanges) are worth it; otherwise on both here. `work` must give the
/// same either way: a side learns of the other by the exchange alone.
///
/// # Panics
///
/// If `work` does.
pub fn on_sides<S: Send>(
    sides: &mut [S; SIDES],
    rounds: usize,
    multiplications: usize,
    work: impl Fn(&mut [S], &Exchange) + Sync,
) {
    let exchange = Exchange::new(rounds);
    let watched = |side: &mut S| {
        let watch = Watch(&exchange.panicked);
        work(slice::from_mut(side), &exchange);
        mem::forget(watch);
    };
    let [own, other] = sides;
    let helped = multiplications >= WORTH_A_THREAD
        && both(
            || {
                watched(own);
                Duration::from_nanos(exchange.waited.load(Ordering::Relaxed))
            },
            &mut || watched(other),
        );
    if !helped {
        work(sides, &exchange);
    }
}

/// Tells the other side of a panic, if it is dropped.
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

    struct Side {
        index: usize,
        sum: f32,
        thread: Option<ThreadId>,
    }

    fn sides() -> [Side; 2] {
        [0, 1].map(|index| Side {
            index,
            sum: 1.0 + index as f32,
            thread: None,
        })
    }

    /// In each round, each side takes the sums of both. In this order they round as they do.
    fn add_up(sides: &mut [Side], exchange: &Exchange) {
        for round in 0..ROUNDS {
            for side in sides.iter_mut() {
                side.thread = Some(thread::current().id());
                exchange.give(round, side.index, vec![side.sum * 0.3]);
            }
            for side in sides.iter_mut() {
                let [first, second] = [0, 1].map(|index| exchange.given(round, index)[0]);
                side.sum = side.sum * 0.7 + first + second;
            }
        }
    }

    /// Until both took part.
    fn on_two_threads(work: impl Fn(&mut [Side], &Exchange) + Sync) -> [Side; 2] {
        let two = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        two.unwrap().install(|| {
            loop {
                let mut sides = sides();
                on_sides(&mut sides, ROUNDS, usize::MAX, &work);
                if sides[0].thread != sides[1].thread {
                    return sides;
                }
                thread::yield_now();
            }
        })
    }

    #[test]
    fn two_threads_give_what_one_gives() {
        let mut alone = sides();
        on_sides(&mut alone, ROUNDS, 0, add_up);
        assert_eq!(alone[0].thread, alone[1].thread);
        let pair = on_two_threads(add_up);
        for (alone, pair) in alone.iter().zip(&pair) {
            assert_eq!(alone.sum.to_bits(), pair.sum.to_bits());
        }
        assert_ne!(pair[0].sum, pair[1].sum);
    }

    #[test]
    fn nobody_waits_for_a_side_that_panicked() {
        for bad in [0, 1] {
            let work = |sides: &mut [Side], exchange: &Exchange| {
                if let [side] = sides
                    && side.index == bad
                {
                    resume_unwind(Box::new(format!("side {bad}")));
                }
                add_up(sides, exchange);
            };
            let panic = catch_unwind(AssertUnwindSafe(|| on_two_threads(work))).err();
            let text = panic.unwrap().downcast::<String>().unwrap();
            assert_eq!(*text, format!("side {bad}"));
        }
        on_two_threads(add_up);
    }
}
