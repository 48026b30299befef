//! A character that the model reads in place of a given one.

use std::collections::HashSet;

use serde::Serialize;

use crate::output::note;

/// A given character that the model has no token for, as `--json` prints it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct StandIn {
    /// Its place in the poem, counted from 1, marks included.
    pub place: usize,
    /// As it was typed.
    pub given: char,
    /// The character that the model reads instead.
    pub read: char,
}

/// Notes each pair of characters once.
pub fn note_stand_ins(stand_ins: &[StandIn]) {
    let mut seen = HashSet::new();
    let first = stand_ins.iter().filter(|one| seen.insert(one.given));
    let pairs: Vec<String> = first.map(|one| format!("{} as {}", one.given, one.read)).collect();
    if !pairs.is_empty() {
        note(format_args!("stand-ins: the model reads {}", pairs.join(", ")));
    }
}
