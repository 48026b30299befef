//! The groups of characters that rhyme.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

use crate::ProsodyError;

/// The heads in the order of 平水韻, upper level first.
const HEADS: &str = "東冬江支微魚虞齊佳灰真文元寒刪先蕭肴豪歌麻陽庚青蒸尤侵覃鹽咸";
/// Their simplified forms.
const SIMPLIFIED: &str = "东冬江支微鱼虞齐佳灰真文元寒删先萧肴豪歌麻阳庚青蒸尤侵覃盐咸";

/// One of the 30 level rhyme groups of 平水韻, named by its first character. Regulated verse rhymes in level tones
/// only, so that the oblique groups are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RhymeGroup(u8);

impl RhymeGroup {
    /// The 30 groups in the order of the rhyme book.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).zip(HEADS.chars()).map(|(index, _)| Self(index))
    }

    /// The character that names the group, in its traditional form.
    pub fn head(self) -> char {
        let head = HEADS.chars().nth(usize::from(self.0));
        head.expect("there are as many heads as groups")
    }

    /// The group with this head, traditional or simplified.
    pub(crate) fn of_head(head: char) -> Option<Self> {
        let mut heads = HEADS.chars().zip(SIMPLIFIED.chars());
        let index =
            heads.position(|(traditional, simplified)| head == traditional || head == simplified);
        index.map(|index| Self(index as u8))
    }
}

impl fmt::Display for RhymeGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head().fmt(f)
    }
}

impl FromStr for RhymeGroup {
    type Err = ProsodyError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let head: Option<char> = name.parse().ok();
        let group = head.and_then(Self::of_head);
        group.ok_or_else(|| ProsodyError::Unknown {
            kind: "rhyme group",
            name: name.to_owned(),
            known: SIMPLIFIED.to_owned(),
        })
    }
}

impl Serialize for RhymeGroup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_char(self.head())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_both_scripts_name_the_same_group() {
        assert_eq!(RhymeGroup::all().count(), 30);
        for group in RhymeGroup::all() {
            assert_eq!(group.to_string().parse(), Ok(group));
            let simplified = SIMPLIFIED.chars().nth(usize::from(group.0)).unwrap();
            assert_eq!(simplified.to_string().parse(), Ok(group));
        }
        for (simplified, traditional) in [("东", "東"), ("阳", "陽"), ("删", "刪")] {
            let group: RhymeGroup = simplified.parse().unwrap();
            assert_eq!(group.to_string(), traditional);
        }
    }

    #[test]
    fn other_names_are_refused_with_the_list() {
        for name in ["", "麌", "尤尤", "x"] {
            let message = name.parse::<RhymeGroup>().unwrap_err().to_string();
            assert!(message.contains(&format!("`{name}`")), "{message}");
            assert!(message.contains("东冬江支"), "{message}");
        }
    }
}
