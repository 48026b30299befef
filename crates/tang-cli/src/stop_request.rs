//! A request to stop, and what becomes of it.

use std::{
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
};

use anyhow::Result;

use crate::{
    interrupt::{INTERRUPTED, on_interrupt},
    note::note,
};

/// Nothing has to be put in order: the program ends at once.
const END: u8 = 0;
/// The request is kept for later.
const HOLD: u8 = 1;
/// The first request is kept, a second ends the program.
const HOLD_ONE: u8 = 2;

/// What becomes of a request, which depends on what the program is at.
#[derive(Clone)]
pub struct StopRequest {
    came: Arc<AtomicBool>,
    mode: Arc<AtomicU8>,
}

impl StopRequest {
    /// Watches for requests, of which each ends the program at once; called once in a program.
    ///
    /// # Errors
    ///
    /// Those of [`on_interrupt`].
    pub fn watch() -> Result<Self> {
        let request = Self {
            came: Arc::default(),
            mode: Arc::default(),
        };
        let watched = request.clone();
        on_interrupt(move || watched.receive())?;
        Ok(request)
    }

    /// Set once a request was kept.
    pub fn came(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.came)
    }

    /// Keeps requests from here on, for something that must be put in order.
    pub fn hold(&self) {
        self.mode.store(HOLD, Ordering::Relaxed);
    }

    /// Keeps one request, with a note that says so; a second ends the program at once.
    pub fn hold_one(&self) {
        self.mode.store(HOLD_ONE, Ordering::Relaxed);
    }

    /// Lets requests end the program again, and ends it if one was kept.
    pub fn release(&self) {
        self.mode.store(END, Ordering::Relaxed);
        if self.came.load(Ordering::Relaxed) {
            exit(INTERRUPTED.into());
        }
    }

    fn receive(&self) {
        let came_before = self.came.swap(true, Ordering::Relaxed);
        match self.mode.load(Ordering::Relaxed) {
            HOLD => {}
            HOLD_ONE if !came_before => {
                note("stopping after this step; interrupt again to lose what is not saved");
            }
            _ => exit(INTERRUPTED.into()),
        }
    }
}
