//! The characters a model knows, and their ids.

use std::collections::{BTreeSet, HashMap};

use tang_files::sha256_hex;
use tang_prosody::PlacedCharacter;

use crate::{TokenizerError, error::Damage};

/// The number by which a model knows a character: 0 up to the size of the vocabulary.
pub type TokenId = u32;

/// The newline, which starts and ends every poem.
pub const NEWLINE: TokenId = 0;
/// The mark `，`.
pub const COMMA: TokenId = 1;
/// The mark `。`.
pub const FULL_STOP: TokenId = 2;

/// The characters with the ids [`NEWLINE`], [`COMMA`] and [`FULL_STOP`].
const FIXED: [char; 3] = ['\n', tang_prosody::COMMA, tang_prosody::FULL_STOP];

/// The characters a model knows, one token each.
///
/// Newline, `，` and `。` are the first three. In a vocabulary of texts all other characters follow by Unicode
/// code point: the same set of characters thus always gets the same ids, whatever texts it was collected
/// from. One from a file keeps the ids that it has there.
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

    /// The vocabulary with these `(character, id)` entries, in any sequence.
    pub(crate) fn from_entries(mut entries: Vec<(char, TokenId)>) -> Result<Self, Damage> {
        entries.sort_by_key(|&(_, id)| id);
        let mut first_ids = HashMap::new();
        for (index, &(character, id)) in entries.iter().enumerate() {
            if let Some(first) = first_ids.insert(character, id) {
                return Err(Damage::RepeatedCharacter {
                    character,
                    first,
                    second: id,
                });
            }
            let wanted = to_id(index);
            if id > wanted {
                return Err(Damage::MissingId { id: wanted });
            }
            if id < wanted {
                return Err(Damage::RepeatedId {
                    id,
                    first: entries[index - 1].0,
                    second: character,
                });
            }
        }

        for (id, wanted) in (0..).zip(FIXED) {
            match entries.get(id as usize) {
                None => return Err(Damage::MissingId { id }),
                Some(&(got, _)) if got == wanted => {}
                Some(&(got, NEWLINE)) => return Err(Damage::NoNewline { got }),
                Some(&(got, _)) => return Err(Damage::Order { id, wanted, got }),
            }
        }
        Ok(Self {
            chars: entries
                .into_iter()
                .map(|(character, _)| character)
                .collect(),
            ids: first_ids,
        })
    }

    /// The number of tokens.
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
    /// newline. An id out of range is none.
    pub fn is_han(&self, id: TokenId) -> bool {
        self.char(id).is_some_and(tang_prosody::is_han)
    }

    /// The ids of a text, one a character. Nothing is added or normalised.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::UnknownCharacters`] for those that the vocabulary lacks: there is no
    /// unknown token.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, TokenizerError> {
        let ids: Option<Vec<TokenId>> = text.chars().map(|c| self.id(c)).collect();
        ids.ok_or_else(|| TokenizerError::UnknownCharacters {
            characters: PlacedCharacter::all_in(text, |c| self.id(c).is_none()),
        })
    }

    /// The text of these ids.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::UnknownId`] for the first id out of range.
    pub fn decode(&self, ids: &[TokenId]) -> Result<String, TokenizerError> {
        ids.iter()
            .map(|&id| {
                self.char(id).ok_or(TokenizerError::UnknownId {
                    id,
                    size: self.len(),
                })
            })
            .collect()
    }

    /// The SHA-256, in hexadecimal, of all characters in the order of their ids, as UTF-8. Two
    /// vocabularies with the same fingerprint give the same ids.
    pub fn fingerprint(&self) -> String {
        sha256_hex(self.chars.iter().collect::<String>())
    }
}

fn to_id(index: usize) -> TokenId {
    TokenId::try_from(index).expect("there are fewer characters in Unicode than ids")
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
        assert_eq!(vocabulary.id('，'), Some(COMMA));
        assert_eq!(vocabulary.id('。'), Some(FULL_STOP));
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
        assert_eq!((ids[0], ids[5], ids[10]), (NEWLINE, COMMA, FULL_STOP));
        assert_eq!(vocabulary.decode(&ids).unwrap(), text);
        assert!(vocabulary.encode("").unwrap().is_empty());
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
        assert_eq!(
            fingerprint,
            Vocabulary::from_texts(["流海入河黄尽山依日白"]).fingerprint()
        );
        assert_ne!(
            fingerprint,
            Vocabulary::from_texts(["流海入河黄尽山依日"]).fingerprint()
        );
    }
}
