//! The groups of characters that rhyme.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

use crate::ProsodyError;

/// The heads in the order of 平水韻, upper level first, each with its simplified form.
const HEADS: [(char, char); 30] = [
    ('東', '东'),
    ('冬', '冬'),
    ('江', '江'),
    ('支', '支'),
    ('微', '微'),
    ('魚', '鱼'),
    ('虞', '虞'),
    ('齊', '齐'),
    ('佳', '佳'),
    ('灰', '灰'),
    ('真', '真'),
    ('文', '文'),
    ('元', '元'),
    ('寒', '寒'),
    ('刪', '删'),
    ('先', '先'),
    ('蕭', '萧'),
    ('肴', '肴'),
    ('豪', '豪'),
    ('歌', '歌'),
    ('麻', '麻'),
    ('陽', '阳'),
    ('庚', '庚'),
    ('青', '青'),
    ('蒸', '蒸'),
    ('尤', '尤'),
    ('侵', '侵'),
    ('覃', '覃'),
    ('鹽', '盐'),
    ('咸', '咸'),
];

/// One of the 30 level rhyme groups of 平水韻, named by its first character. Regulated verse rhymes
/// in level tones only, so that the oblique groups are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RhymeGroup(u8);

impl RhymeGroup {
    /// The 30 groups in the order of the rhyme book.
    pub fn all() -> impl Iterator<Item = Self> {
        (0u8..).zip(HEADS).map(|(index, _)| Self(index))
    }

    /// The character that names the group, in its traditional form.
    pub fn head(self) -> char {
        HEADS[usize::from(self.0)].0
    }

    /// The group with this head, traditional or simplified.
    pub(crate) fn of_head(head: char) -> Option<Self> {
        (0u8..)
            .zip(HEADS)
            .find(|(_, (traditional, simplified))| head == *traditional || head == *simplified)
            .map(|(index, _)| Self(index))
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
        let mut chars = name.chars();
        chars
            .next()
            .filter(|_| chars.next().is_none())
            .and_then(Self::of_head)
            .ok_or_else(|| ProsodyError::UnknownRhyme {
                name: name.to_owned(),
                known: HEADS.iter().map(|(_, simplified)| *simplified).collect(),
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
            let simplified = HEADS[usize::from(group.0)].1.to_string();
            assert_eq!(simplified.parse(), Ok(group));
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
