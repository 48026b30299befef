//! The two kinds of tones that verse tells apart, and sets of them.

use std::{fmt, ops::BitOr};

use serde::{Serialize, Serializer};

/// A kind of tones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    /// 平.
    Level = 1,
    /// 仄: the rising, departing and entering tones.
    Oblique = 2,
}

impl Tone {
    /// The other one.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Level => Self::Oblique,
            Self::Oblique => Self::Level,
        }
    }
}

impl fmt::Display for Tone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ToneSet::from(*self).fmt(f)
    }
}

/// A set of tones that a character has or a place allows, as the sum of the numbers of [`Tone`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToneSet(u8);

impl ToneSet {
    /// No tone.
    pub const NONE: Self = Self(0);
    /// Both tones: a character read either way, or a free place.
    pub const ANY: Self = Self(Tone::Level as u8 | Tone::Oblique as u8);

    /// Whether `tone` is one of these.
    pub const fn contains(self, tone: Tone) -> bool {
        self.0 & tone as u8 != 0
    }

    /// Whether the two sets have a tone in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl From<Tone> for ToneSet {
    fn from(tone: Tone) -> Self {
        Self(tone as u8)
    }
}

impl BitOr for ToneSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl FromIterator<Tone> for ToneSet {
    fn from_iter<I: IntoIterator<Item = Tone>>(tones: I) -> Self {
        tones.into_iter().fold(Self::NONE, |set, tone| set | tone.into())
    }
}

/// 平, 仄, 中 for both, 无 for none.
impl fmt::Display for ToneSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(["无", "平", "仄", "中"][usize::from(self.0)])
    }
}

impl Serialize for ToneSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_is_put_in() {
        let level = ToneSet::from(Tone::Level);
        let oblique = ToneSet::from(Tone::Level.opposite());
        assert_eq!(level | oblique, ToneSet::ANY);
        assert_eq!([Tone::Level; 2].into_iter().collect::<ToneSet>(), level);
        assert!(level.contains(Tone::Level) && !level.contains(Tone::Oblique));
        assert!(ToneSet::ANY.intersects(oblique) && !level.intersects(oblique));
        assert!(!ToneSet::NONE.intersects(ToneSet::ANY));
        let shown = [level, oblique, ToneSet::ANY, ToneSet::NONE].map(|set| set.to_string());
        assert_eq!(shown, ["平", "仄", "中", "无"]);
    }
}
