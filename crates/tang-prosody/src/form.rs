//! The four forms of regulated verse, and how each is laid out as text.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};
use unicode_script::{Script, UnicodeScript};

use crate::{Layout, ProsodyError, Slot};

/// The mark that closes the first line of a couplet.
pub const COMMA: char = '，';
/// The mark that closes a couplet.
pub const FULL_STOP: char = '。';

/// Whether `c` is of Unicode's script Han, in whatever block: 春, 䜩, 𠮷, 〇, 々.
pub fn is_han(c: char) -> bool {
    c.script() == Script::Han
}

/// The length of a line, its mark not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineLength {
    /// 五言: five characters.
    Five,
    /// 七言: seven characters.
    Seven,
}

impl LineLength {
    /// The length as a number.
    pub const fn chars(self) -> usize {
        match self {
            Self::Five => 5,
            Self::Seven => 7,
        }
    }
}

impl FromStr for LineLength {
    type Err = ProsodyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "5" | "五" => Ok(Self::Five),
            "7" | "七" => Ok(Self::Seven),
            _ => Err(ProsodyError::LineLength { length: text.to_owned() }),
        }
    }
}

/// A form of regulated verse: 王力《诗词格律》 calls the quatrains 绝句 and the eight-line poems 律诗.
///
/// As text, every line is closed by a mark, `，` and `。` in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// 五绝: four lines of five characters.
    WuJue,
    /// 七绝: four lines of seven characters.
    QiJue,
    /// 五律: eight lines of five characters.
    WuLv,
    /// 七律: eight lines of seven characters.
    QiLv,
}

impl Form {
    /// The four forms, in the order in which tables print them.
    pub const ALL: [Self; 4] = [Self::WuJue, Self::QiJue, Self::WuLv, Self::QiLv];

    /// The strict form of a whole poem: the right number of lines, each of Han characters only, closed by `，` and
    /// `。` in turn, and nothing else. `None` if it has no such form.
    pub fn of(poem: &str) -> Option<Self> {
        let mut forms = Self::ALL.into_iter();
        let form = forms.find(|form| form.char_count() == poem.chars().count())?;
        let layout = Layout::from(form);
        let fits = |(position, c)| match layout.slot(position) {
            Slot::Han { .. } => is_han(c),
            Slot::Mark(mark) => c == mark,
            Slot::End => false,
        };
        poem.chars().enumerate().all(fits).then_some(form)
    }

    /// The Chinese name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WuJue => "五绝",
            Self::QiJue => "七绝",
            Self::WuLv => "五律",
            Self::QiLv => "七律",
        }
    }

    /// Count of lines, 4 or 8.
    pub const fn lines(self) -> usize {
        match self {
            Self::WuJue | Self::QiJue => 4,
            Self::WuLv | Self::QiLv => 8,
        }
    }

    /// The length of every line.
    pub const fn line_length(self) -> LineLength {
        match self {
            Self::WuJue | Self::WuLv => LineLength::Five,
            Self::QiJue | Self::QiLv => LineLength::Seven,
        }
    }

    /// Count of characters of a whole poem, marks counted, newline not.
    pub const fn char_count(self) -> usize {
        Layout::new(self.lines(), self.line_length()).char_count()
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Form {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for Form {
    type Err = ProsodyError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let simplified = name.replace('絕', "绝");
        let mut forms = Self::ALL.into_iter();
        let found = forms.find(|form| form.name() == simplified);
        found.ok_or_else(|| ProsodyError::Unknown {
            kind: "form",
            name: name.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_each_form() {
        let five = "白日依山尽，黄河入海流。";
        let seven = "两个黄鹂鸣翠柳，一行白鹭上青天。";
        assert_eq!(Form::of(&five.repeat(2)), Some(Form::WuJue));
        assert_eq!(Form::of(&five.repeat(4)), Some(Form::WuLv));
        assert_eq!(Form::of(&seven.repeat(2)), Some(Form::QiJue));
        assert_eq!(Form::of(&seven.repeat(4)), Some(Form::QiLv));
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "白日依山尽，黄河入海流。", // one couplet
            "白日依山尽，黄河入海流。欲穷千里目，更上一层楼，", // ends in a comma
            "白日依山尽。黄河入海流，欲穷千里目。更上一层楼，", // marks swapped
            "白日依山a，黄河入海流。欲穷千里目，更上一层楼。", // a Latin letter
            "白日依山，黄河入海流。欲穷千里目了，更上一层楼。", // 4 + 6
        ] {
            assert_eq!(Form::of(text), None, "{text}");
        }
    }

    #[test]
    fn han_is_the_script_in_every_block() {
        for c in ['春', '\u{9fff}', '䜩', '𠮷', '\u{31350}', '\u{f9e1}', '〇', '々'] {
            assert!(is_han(c), "{c} U+{:04X}", u32::from(c));
        }
        for c in ['，', '。', 'a', '１', 'の', 'カ', '한', 'ㄅ', '*', '□', '\u{3000}', '\u{200b}']
        {
            assert!(!is_han(c), "{c} U+{:04X}", u32::from(c));
        }
        let rare = "䜩集山林远，𠮷光照晚途。坐来忘主客，一笑共提壶。";
        assert_eq!(Form::of(rare), Some(Form::WuJue));
    }

    #[test]
    fn names_and_shapes_agree() {
        for form in Form::ALL {
            assert_eq!(form.name().parse(), Ok(form));
            assert_eq!(form.char_count(), form.lines() * (form.line_length().chars() + 1));
        }
        assert_eq!(Form::ALL.map(Form::char_count), [24, 32, 48, 64]);
        assert_eq!("7".parse(), Ok(LineLength::Seven));
        assert_eq!(
            "六绝".parse::<Form>().unwrap_err().to_string(),
            "unknown form `六绝`: use one of 五绝, 七绝, 五律, 七律"
        );
        assert!("6".parse::<LineLength>().is_err());
    }
}
