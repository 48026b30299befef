//! The characters a model knows, and their ids.

use std::collections::{BTreeSet, HashMap};

use tang_files::{escape_value, sha256_hex};
use tang_prosody::{COMMA, FULL_STOP, PlacedCharacter};

use crate::TokenizerError;

/// The number by which a model knows a character: below the size of the vocabulary.
pub type TokenId = u32;

/// The newline, which starts and ends every poem.
pub const NEWLINE: TokenId = 0;
/// The mark `，`.
pub const COMMA_ID: TokenId = 1;
/// The mark `。`.
pub const FULL_STOP_ID: TokenId = 2;

/// The characters with the ids [`NEWLINE`], [`COMMA_ID`] and [`FULL_STOP_ID`].
const FIXED: [char; 3] = ['\n', COMMA, FULL_STOP];

/// The characters that a model knows, one token each.
///
/// Newline, `，` and `。` are the first three. In a vocabulary of texts all other characters follow
/// by Unicode code point: the same set of characters thus always gets the same ids, whatever texts
/// it was collected from. A vocabulary from a file keeps the ids of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocabulary {
    chars: Vec<char>,
    ids: HashMap<char, TokenId>,
}

impl Vocabulary {
    /// The vocabulary of all characters in `texts`. The newline and the two marks are always in it.
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut others: BTreeSet<char> = texts.into_iter().flat_map(str::chars).collect();
        for fixed in FIXED {
            others.remove(&fixed);
        }
        let chars: Vec<char> = FIXED.into_iter().chain(others).collect();
        let ids = (0..).zip(&chars).map(|(id, &c)| (c, id)).collect();
        Self { chars, ids }
    }

    /// The vocabulary with these `(character, id)` entries, in any order, or the reason why they
    /// make no vocabulary.
    pub(crate) fn from_entries(mut entries: Vec<(char, TokenId)>) -> Result<Self, String> {
        let shown = |character: char| escape_value(&character.to_string());
        let missing = |id| format!("id {id} is missing, wanted 0, 1, 2 and so on without a gap");
        entries.sort_by_key(|&(_, id)| id);
        let mut chars: Vec<char> = Vec::new();
        let mut ids = HashMap::new();
        for (wanted, &(character, id)) in (0..).zip(&entries) {
            let name = shown(character);
            if let Some(first) = ids.insert(character, id) {
                return Err(format!("`{name}` has the ids {first} and {id}, wanted one"));
            }
            if id > wanted {
                return Err(missing(wanted));
            }
            if id < wanted {
                let first = shown(chars[id as usize]);
                return Err(format!(
                    "id {id} stands for two characters, `{first}` and `{name}`, wanted one"
                ));
            }
            chars.push(character);
        }
        for (id, wanted) in (0..).zip(FIXED) {
            let got = *chars.get(id as usize).ok_or_else(|| missing(id))?;
            if got != wanted {
                let got = shown(got);
                return Err(if id == NEWLINE {
                    format!("id 0 is `{got}`, wanted the newline")
                } else {
                    format!(
                        "id {id} is `{got}`, wanted `{wanted}`: ids 0 to 2 are the newline, `，` and `。`"
                    )
                });
            }
        }
        Ok(Self { chars, ids })
    }

    /// Count of tokens.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.chars.len()
    }

    /// The id of a character, if the vocabulary has it.
    pub fn id(&self, character: char) -> Option<TokenId> {
        self.ids.get(&character).copied()
    }

    /// The character with this id, if it is in range.
    pub fn char(&self, id: TokenId) -> Option<char> {
        self.chars.get(id as usize).copied()
    }

    /// All tokens, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (TokenId, char)> {
        (0..).zip(self.chars.iter().copied())
    }

    /// Whether this token is a Han character ([`tang_prosody::is_han`]), so neither a mark nor the
    /// newline. False for an id out of range.
    pub fn is_han(&self, id: TokenId) -> bool {
        self.char(id).is_some_and(tang_prosody::is_han)
    }

    /// The ids of a text, one per character. Nothing is added or normalised.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::UnknownCharacters`] for those that the vocabulary lacks: there is no unknown token.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, TokenizerError> {
        encode_by(text, |c| self.id(c))
    }

    /// The id that a model reads for a given character: its own, or else that of its
    /// [stand-in](tang_prosody::stand_in); `None` if the vocabulary lacks both.
    pub fn given_id(&self, character: char) -> Option<TokenId> {
        self.id(character).or_else(|| self.id(tang_prosody::stand_in(character)?))
    }

    /// [`encode`](Self::encode) for a given text: its characters that the vocabulary lacks are read by their
    /// stand-ins. The ids say nothing of the characters themselves, so the caller keeps the text to print it.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::UnknownCharacters`] for those without a stand-in in the vocabulary.
    pub fn encode_given(&self, text: &str) -> Result<Vec<TokenId>, TokenizerError> {
        encode_by(text, |c| self.given_id(c))
    }

    /// The text of these ids.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::UnknownId`] for the first id out of range.
    pub fn decode(&self, ids: &[TokenId]) -> Result<String, TokenizerError> {
        ids.iter()
            .map(|&id| self.char(id).ok_or(TokenizerError::UnknownId { id, size: self.len() }))
            .collect()
    }

    /// The SHA-256, in hexadecimal, of all characters in the order of their ids, as UTF-8. Two vocabularies with the
    /// same fingerprint give the same ids.
    pub fn fingerprint(&self) -> String {
        sha256_hex(self.chars.iter().collect::<String>())
    }
}

fn encode_by(
    text: &str,
    id: impl Fn(char) -> Option<TokenId>,
) -> Result<Vec<TokenId>, TokenizerError> {
    let ids: Option<Vec<TokenId>> = text.chars().map(&id).collect();
    ids.ok_or_else(|| TokenizerError::UnknownCharacters {
        characters: PlacedCharacter::all_in(text, |c| id(c).is_none()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        Vocabulary::from_texts(["白日依山尽，", "黄河入海流。\n"])
    }

    #[test]
    fn order_is_fixed_characters_then_code_points() {
        let vocabulary = Vocabulary::from_texts(["乙，丁", "一乙。\n", "𠀀A"]);
        let chars: String = vocabulary.iter().map(|(_, c)| c).collect();
        assert_eq!(chars, "\n，。A一丁乙𠀀");
        assert_eq!(vocabulary.len(), 8);
        assert_eq!(vocabulary.id('\n'), Some(NEWLINE));
        assert_eq!(vocabulary.id('，'), Some(COMMA_ID));
        assert_eq!(vocabulary.id('。'), Some(FULL_STOP_ID));
        assert_eq!(vocabulary.char(4), Some('一'));
        assert_eq!(vocabulary.char(8), None);
        assert_eq!(vocabulary.id('山'), None);
        assert_eq!(Vocabulary::from_texts([]).len(), 3);
    }

    #[test]
    fn encodes_and_decodes() {
        let vocabulary = vocabulary();
        let text = "\n黄河依日，白山入海。\n";
        let ids = vocabulary.encode(text).unwrap();
        assert_eq!(ids.len(), 12);
        assert_eq!((ids[0], ids[5], ids[10]), (NEWLINE, COMMA_ID, FULL_STOP_ID));
        assert_eq!(vocabulary.decode(&ids).unwrap(), text);
        assert!(vocabulary.encode("").unwrap().is_empty());
    }

    #[test]
    fn a_given_character_is_read_by_its_stand_in() {
        let vocabulary = Vocabulary::from_texts(["玉女妈"]);
        let (jade, mother) = (vocabulary.id('玉').unwrap(), vocabulary.id('妈').unwrap());
        assert_eq!(vocabulary.encode_given("玥玉妈，").unwrap(), [jade, jade, mother, COMMA_ID]);
        assert!(vocabulary.encode("玥").is_err());
        // The vocabulary lacks the stand-in of the second, and the third has none.
        assert_eq!("玥晗𠮷".chars().filter(|c| vocabulary.given_id(*c).is_none()).count(), 2);
        let message = vocabulary.encode_given("玥晗𠮷").unwrap_err().to_string();
        assert!(message.starts_with("character 2 of the text, `晗` (U+6657), and"), "{message}");
    }

    #[test]
    fn unknown_characters_are_named_with_their_positions() {
        for (text, wanted) in [
            (
                "白日照",
                "character 3 of the text, `照` (U+7167), is not in the vocabulary: use another",
            ),
            (
                "照日𠮷",
                "character 1 of the text, `照` (U+7167), and character 3 of the text, `𠮷` (U+20BB7), \
                 are not in the vocabulary: use others",
            ),
        ] {
            let error = vocabulary().encode(text).unwrap_err();
            assert_eq!(error.to_string(), wanted);
        }
    }

    #[test]
    fn id_out_of_range_is_named_with_the_size() {
        let vocabulary = vocabulary();
        let error = vocabulary.decode(&[0, 3, 13]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "token id 13 is out of range: the vocabulary has 13 tokens; \
             do the ids come from a model with another vocabulary?"
        );
        assert_eq!(vocabulary.decode(&[12]).unwrap(), "黄");
    }

    #[test]
    fn han_are_neither_marks_nor_newline() {
        let vocabulary = vocabulary();
        let han: Vec<bool> = (0..14).map(|id| vocabulary.is_han(id)).collect();
        assert_eq!(han[..4], [false, false, false, true]);
        assert_eq!(han[12..], [true, false]);
    }

    #[test]
    fn fingerprint_depends_on_the_characters_alone() {
        let fingerprint = vocabulary().fingerprint();
        assert_eq!(fingerprint.len(), 64);
        assert_eq!(fingerprint, Vocabulary::from_texts(["流海入河黄尽山依日白"]).fingerprint());
        assert_ne!(fingerprint, Vocabulary::from_texts(["流海入河黄尽山依日"]).fingerprint());
    }
}
