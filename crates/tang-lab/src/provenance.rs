//! Which program took the figures, on what.

use std::fmt;

use serde::Serialize;

use crate::Machine;

/// What a reader needs to take the figures again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The machine.
    pub machine: Machine,
    /// Where the model computes.
    pub device: String,
    /// The version of Burn, where the program has it.
    pub burn: Option<&'static str>,
    /// The commit of the source tree at the time of the run, where it is known.
    pub commit: Option<Commit>,
}

/// A state of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its name in git.
    pub id: String,
    /// Whether files differed from it.
    pub modified: bool,
}

#[cfg(feature = "train")]
const BURN: Option<&str> = Some(tang_model::device::BURN_VERSION);
#[cfg(not(feature = "train"))]
const BURN: Option<&str> = None;

impl Provenance {
    /// This program on this machine, on the device that is called so.
    pub fn this(device: String, commit: Option<Commit>) -> Self {
        Self {
            machine: Machine::this(),
            device,
            burn: BURN,
            commit,
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "- machine: {}", self.machine)?;
        write!(f, "- device: {}", self.device)?;
        if let Some(burn) = self.burn {
            write!(f, "; Burn {burn}")?;
        }
        writeln!(f)?;
        match &self.commit {
            None => write!(f, "- commit: unknown"),
            Some(Commit { id, modified }) => {
                let note = match modified {
                    true => " with uncommitted changes",
                    false => "",
                };
                write!(f, "- commit: {id}{note}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncommitted_changes_are_marked() {
        let shown = |commit| Provenance::this("CPU".to_owned(), commit).to_string();
        let commit = |modified| {
            Some(Commit {
                id: "0123abcd".to_owned(),
                modified,
            })
        };
        assert!(shown(commit(true)).ends_with("0123abcd with uncommitted changes"));
        assert!(shown(commit(false)).ends_with("commit: 0123abcd"));
        assert!(shown(None).ends_with("commit: unknown"));
        assert!(shown(None).contains(BURN.unwrap_or("device: CPU\n")));
    }
}
