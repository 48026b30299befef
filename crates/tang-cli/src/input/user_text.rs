//! The text that a user typed, and the same text in the characters of the model.

use std::sync::LazyLock;

use anyhow::{Result, anyhow};
use tang_corpus::{Converter, Traditional};
use tang_prosody::{PlacedCharacter, ProsodyError, Readings, is_han, line_mark, plain_marks};
use tang_tokenizer::{TokenId, TokenizerError, Vocabulary};

/// The converter is made once, since building its tables takes longer than writing a poem.
static CONVERTER: LazyLock<Converter> = LazyLock::new(Converter::traditional_to_simplified);

/// A text as it was typed and in simplified characters, pair by pair. White space, such as the line breaks and
/// indents of a pasted poem, is left out.
#[derive(Debug, Clone, Default)]
pub struct UserText(Vec<UserCharacter>);

#[derive(Debug, Clone, Copy)]
struct UserCharacter {
    /// Its place in the typed text, white space included, from 1.
    position: usize,
    typed: char,
    /// As it was typed, with marks in full width.
    printed: char,
    /// In simplified characters, with marks as `，` or `。`.
    plain: char,
    /// The white space before it.
    space: Option<char>,
}

impl UserCharacter {
    /// The character as typed; a mark that the model does not know becomes one of the two that all models know.
    fn as_typed(self, vocabulary: &Vocabulary) -> char {
        if self.is_mark() && vocabulary.id(self.printed).is_none() {
            self.plain
        } else {
            self.printed
        }
    }

    /// The simplified form if the model knows it, or else the character as typed; if it knows neither, that of the
    /// two, in this order, for which it can read a stand-in.
    fn reading(self, vocabulary: &Vocabulary) -> Option<char> {
        let as_typed = self.as_typed(vocabulary);
        let plain = if self.is_mark() { as_typed } else { self.plain };
        let known = |find: fn(&Vocabulary, char) -> Option<TokenId>| {
            [plain, as_typed].into_iter().find(|c| find(vocabulary, *c).is_some())
        };
        known(Vocabulary::id).or_else(|| known(Vocabulary::given_id))
    }

    /// Whether the model reads a stand-in for the character as typed, which no conversion changes.
    fn has_stand_in(self, vocabulary: &Vocabulary) -> bool {
        let is_unknown = vocabulary.id(self.plain).is_none();
        self.printed == self.plain && is_unknown && vocabulary.given_id(self.plain).is_some()
    }

    fn is_mark(self) -> bool {
        line_mark(self.printed).is_some()
    }
}

impl UserText {
    /// The text of an argument or a line.
    pub fn new(typed: &str) -> Self {
        let mut characters = Vec::new();
        let mut space = None;
        for (position, typed) in (1..).zip(typed.chars()) {
            if typed.is_whitespace() {
                space = Some(typed);
                continue;
            }
            let printed = line_mark(typed).unwrap_or(typed);
            characters.push(UserCharacter {
                position,
                typed,
                printed,
                plain: printed,
                space: space.take(),
            });
        }
        let printed: String = characters.iter().map(|c| c.printed).collect();
        // The converter writes one character per character.
        let converted = CONVERTER.convert(&plain_marks(&printed));
        for (character, plain) in characters.iter_mut().zip(converted.chars()) {
            character.plain = plain;
        }
        Self(characters)
    }

    /// The count of characters without white space.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The characters as they were typed.
    pub fn typed(&self) -> impl Iterator<Item = char> {
        self.0.iter().map(|c| c.typed)
    }

    /// The text in simplified characters.
    pub fn plain(&self) -> String {
        self.0.iter().map(|c| c.plain).collect()
    }

    /// The text in the characters by which the model reads it: as it was typed if the model knows all of that (乾 in
    /// a simplified text is not meant as 干), or else in simplified characters. It may have characters for which the
    /// model reads stand-ins; an error names the typed characters that it cannot read.
    pub fn read(&self, vocabulary: &Vocabulary) -> Result<String, TokenizerError> {
        self.read_by(vocabulary, |c| vocabulary.id(c).is_some())
    }

    /// Heads or a template as the model reads them: Han characters as in [`read`](Self::read),
    /// others as they are. With `sounds`, it reads as typed only characters with known tones and rhymes. One error
    /// names all characters that are not allowed, and all Han characters that the model cannot read.
    pub fn read_lines(
        &self,
        is_allowed: fn(char) -> bool,
        sounds: bool,
        vocabulary: &Vocabulary,
    ) -> Result<String> {
        let is_known = |c| vocabulary.id(c).is_some() && (!sounds || Readings::of(c).is_some());
        let han = self.0.iter().filter(|c| is_han(c.printed)).copied();
        let read = Self(han.collect()).read_by(vocabulary, is_known);
        let characters = self.placed(|c| !is_allowed(c.printed));
        if !characters.is_empty() {
            let not_han = ProsodyError::NotHan { characters };
            return Err(match read {
                Ok(_) => not_han.into(),
                Err(unknown) => anyhow!("{not_han}; {unknown}"),
            });
        }
        let read = read?;
        let mut han = read.chars().peekable();
        let printed = self.0.iter().map(|c| c.printed);
        let read = printed.map(|c| han.next_if(|_| is_han(c)).unwrap_or(c));
        Ok(read.collect())
    }

    /// As typed if `is_known` holds for all characters, or else in simplified characters.
    fn read_by(
        &self,
        vocabulary: &Vocabulary,
        is_known: impl Fn(char) -> bool,
    ) -> Result<String, TokenizerError> {
        let is_known = |c: &UserCharacter| is_known(c.as_typed(vocabulary));
        if self.0.iter().all(|c| is_known(c) || c.has_stand_in(vocabulary)) {
            return Ok(self.0.iter().map(|c| c.as_typed(vocabulary)).collect());
        }
        let read: Option<String> = self.0.iter().map(|c| c.reading(vocabulary)).collect();
        read.ok_or_else(|| TokenizerError::UnknownCharacters {
            characters: self.placed(|c| c.reading(vocabulary).is_none()),
        })
    }

    /// The text as it is printed: as it was typed, or, with `traditional`, in traditional
    /// characters if any of its characters is simplified only.
    pub fn printed(&self, traditional: Option<&Traditional>) -> String {
        let is_simplified =
            |table: &&Traditional| self.0.iter().any(|c| table.is_simplified_only(c.printed));
        let Some(table) = traditional.filter(is_simplified) else {
            return self.0.iter().map(|c| c.printed).collect();
        };
        let converted = table.convert(&self.plain());
        let pairs = self.0.iter().zip(converted.chars());
        let is_traditional = |c: &UserCharacter| c.printed != c.plain;
        pairs.map(|(c, converted)| if is_traditional(c) { c.printed } else { converted }).collect()
    }

    /// A reading of this text, with the white space that was typed.
    pub fn spaced(&self, text: &str) -> String {
        let pairs = self.0.iter().zip(text.chars());
        pairs.flat_map(|(c, read)| c.space.into_iter().chain([read])).collect()
    }

    fn placed(&self, is_wanted: impl Fn(UserCharacter) -> bool) -> Vec<PlacedCharacter> {
        let wanted = self.0.iter().filter(|c| is_wanted(**c));
        let placed = wanted.map(|c| PlacedCharacter { character: c.typed, position: c.position });
        placed.collect()
    }
}

#[cfg(test)]
mod tests {
    use tang_prosody::Template;

    use super::*;

    #[test]
    fn reads_what_people_type() {
        for (typed, wanted) in [
            ("", ""),
            (" \n", ""),
            ("春風\n", "春风"),
            ("白日依山盡,\n　黃河入海流.", "白日依山尽，黄河入海流。"),
            ("春，a!", "春，a。"),
            ("春眠不觉晓?处处、夜来：", "春眠不觉晓，处处。夜来，"),
        ] {
            assert_eq!(UserText::new(typed).plain(), wanted);
        }
    }

    #[test]
    fn the_model_reads_what_it_knows() {
        let vocabulary = Vocabulary::from_texts(["干乾元于深沉沈衞泪不"]);
        for (typed, wanted) in [
            ("乾乾,", "乾乾，"),
            ("深沈", "深沈"),
            // A traditional text, in simplified characters.
            ("淚不乾.", "泪不干。"),
            ("於深沈", "于深沉"),
            ("於乾元", "于乾元"),
            // It knows no other form of 衞.
            ("於衞", "于衞"),
        ] {
            let read = UserText::new(typed).read(&vocabulary);
            assert_eq!(read.unwrap(), wanted);
        }
        // No table has the sounds of 乾.
        for (sounds, wanted) in [(false, "乾不"), (true, "干不")] {
            let read = UserText::new("乾不").read_lines(is_han, sounds, &vocabulary);
            assert_eq!(read.unwrap(), wanted);
        }
    }

    #[test]
    fn a_stand_in_is_the_last_resort() {
        let vocabulary = Vocabulary::from_texts(["干乾女玉马言人春"]);
        for (typed, wanted) in [
            ("玥妈", "玥妈"),
            ("媽", "妈"),
            // The model knows the simplified form, and then the one as typed.
            ("馬", "马"),
            ("乾妈", "乾妈"),
            ("乾媽", "干妈"),
            ("讌", "䜩"),
            // No table has the simplified form 𫝈.
            ("㑮", "㑮"),
        ] {
            let read = UserText::new(typed).read(&vocabulary);
            assert_eq!(read.unwrap(), wanted);
            let read = UserText::new(typed).read_lines(is_han, false, &vocabulary);
            assert_eq!(read.unwrap(), wanted);
        }
        // The model does not know 日, so it has no stand-in for 晗.
        let error = UserText::new("玥晗").read(&vocabulary).unwrap_err().to_string();
        assert!(error.starts_with("character 2 of the text, `晗`"), "{error}");
    }

    #[test]
    fn a_mark_is_read_as_one_that_the_model_knows() {
        for (known, wanted) in [("春眠", "春，眠。"), ("春眠？", "春？眠。")] {
            let vocabulary = Vocabulary::from_texts([known]);
            let text = UserText::new("春?\n眠；");
            assert_eq!(text.read(&vocabulary).unwrap(), wanted);
            assert_eq!(text.printed(None), "春？眠；");
            assert_eq!(text.spaced(&text.printed(None)), "春？\n眠；");
        }
        // Beside another mark, a character stays as it was typed, too.
        let vocabulary = Vocabulary::from_texts(["乾干"]);
        assert_eq!(UserText::new("乾？").read(&vocabulary).unwrap(), "乾，");
    }

    #[test]
    fn errors_name_all_that_was_typed_in_its_place() {
        let vocabulary = Vocabulary::from_texts(["春山"]);
        let error = UserText::new("𠀀 春𠮷,").read(&vocabulary).unwrap_err();
        assert_eq!(
            error.to_string(),
            "character 1 of the text, `𠀀` (U+20000), and character 4 of the text, `𠮷` (U+20BB7), are \
             not in the vocabulary: use others"
        );

        let heads = UserText::new("春,𠀀a");
        let error = heads.read_lines(is_han, false, &vocabulary).unwrap_err();
        assert_eq!(
            error.to_string(),
            "character 2 of the text, `,` (U+002C), and character 4 of the text, `a` (U+0061), cannot \
             stand in a line: use Han characters only; character 3 of the text, `𠀀` (U+20000), is not \
             in the vocabulary: use another"
        );

        let template = UserText::new("春**** , 山****.");
        let read = template.read_lines(Template::allows, false, &vocabulary);
        assert_eq!(read.unwrap(), "春****，山****。");
    }

    #[test]
    fn what_was_typed_is_printed() {
        let traditional = Traditional::default();
        for typed in [
            "",
            "王后千秋",
            "征人未還",
            "讌集山林",
            "乾乾乾乾",
            "徵於蒐",
            "深沈",
            "𠮷",
            "烟花",
            "\u{f9e1}下",
            "春眠不覺曉，",
        ] {
            let text = UserText::new(typed);
            assert_eq!(text.printed(None), typed);
            assert_eq!(text.printed(Some(&traditional)), typed);
        }
        for (typed, wanted) in [
            ("双袖龙钟泪不干,", "雙袖龍鍾淚不乾，"),
            ("春眠不觉", "春眠不覺"),
            ("后来居上见", "後來居上見"),
            // In a mixed text, the traditional characters are meant.
            ("乾隆與云龙", "乾隆與雲龍"),
            ("徵人见", "徵人見"),
        ] {
            let text = UserText::new(typed);
            assert_eq!(text.printed(None), typed.replace(',', "，"));
            assert_eq!(text.printed(Some(&traditional)), wanted);
        }
    }
}
