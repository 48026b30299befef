//! The vocabulary as a folder that Hugging Face tokenizers reads: a BPE model without merges has
//! the single characters as its tokens.

use std::{
    collections::{BTreeSet, HashSet},
    fmt, fs,
    path::Path,
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::json;
use tang_files::{FileKind, escape_value, read_at_most, write_atomically};

use crate::{TokenId, TokenizerError, Vocabulary, error::Damage, vocabulary::NEWLINE};

/// The file with the vocabulary.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// The mark that some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The file that tells transformers which class reads [`TOKENIZER_FILE`].
pub const TOKENIZER_CONFIG_FILE: &str = "tokenizer_config.json";
/// The most bytes of [`TOKENIZER_FILE`]: it may have each character of Unicode, and other models have as
/// many tokens with their merges.
const MAX_BYTES: u64 = 64 << 20;

impl Vocabulary {
    /// Writes [`TOKENIZER_FILE`] and [`TOKENIZER_CONFIG_FILE`] into `folder`, which is created if
    /// it is missing.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Io`] with the path that could not be written.
    pub fn save(&self, folder: &Path) -> Result<(), TokenizerError> {
        let io_error = |action, path: &Path, source| TokenizerError::Io {
            action,
            path: path.to_owned(),
            source,
        };
        fs::create_dir_all(folder).map_err(|source| io_error("create", folder, source))?;
        let config = json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "\n",
            "eos_token": "\n",
            "clean_up_tokenization_spaces": false,
        });
        for (name, text) in [
            (TOKENIZER_CONFIG_FILE, to_json(&config)),
            (TOKENIZER_FILE, to_json(&TokenizerFile::new(self))),
        ] {
            let path = folder.join(name);
            write_atomically(&path, text.as_bytes())
                .map_err(|source| io_error("write", &path, source))?;
        }
        Ok(())
    }

    /// Reads the vocabulary from the [`TOKENIZER_FILE`] in `folder`.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Io`] if it cannot be read, [`TokenizerError::Json`] if it is no tokenizer
    /// file, [`TokenizerError::Damaged`] if its tokens are not single characters with ids from 0 on, the
    /// first three of which are fixed. Added tokens without a character, such as `<pad>`, may follow.
    pub fn load(folder: &Path) -> Result<Self, TokenizerError> {
        let path = folder.join(TOKENIZER_FILE);
        let text = read_at_most(MAX_BYTES, &path).map_err(|source| TokenizerError::Io {
            action: "read",
            path: path.clone(),
            source,
        })?;
        Self::from_bytes(&text, &path)
    }

    /// Reads the contents of a [`TOKENIZER_FILE`]; `path` is for error messages.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load), without [`TokenizerError::Io`].
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, TokenizerError> {
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let file: StoredFile =
            serde_json::from_slice(text).map_err(|error| TokenizerError::Json {
                path: path.to_owned(),
                reason: match FileKind::of(text) {
                    None | Some(FileKind::JSON) => escape_value(&error.to_string()),
                    Some(kind) => kind.to_string(),
                },
            })?;
        file.into_vocabulary()
            .map_err(|damage| TokenizerError::Damaged {
                path: path.to_owned(),
                damage,
            })
    }
}

fn to_json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value)
        .expect("strings, numbers and nulls under string keys are always JSON");
    text + "\n"
}

/// The whole file as it is written. `()` is a null: the format wants the key to be there.
#[derive(Serialize)]
struct TokenizerFile {
    version: &'static str,
    truncation: (),
    padding: (),
    added_tokens: [AddedToken; 1],
    normalizer: (),
    pre_tokenizer: (),
    post_processor: (),
    decoder: Decoder,
    model: Model,
}

#[derive(Serialize)]
struct AddedToken {
    id: TokenId,
    content: &'static str,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
    special: bool,
}

#[derive(Serialize)]
struct Decoder {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Model {
    #[serde(rename = "type")]
    kind: &'static str,
    dropout: (),
    unk_token: (),
    continuing_subword_prefix: (),
    end_of_word_suffix: (),
    fuse_unk: bool,
    byte_fallback: bool,
    ignore_merges: bool,
    vocab: Entries,
    merges: [(); 0],
}

impl TokenizerFile {
    fn new(vocabulary: &Vocabulary) -> Self {
        Self {
            version: "1.0",
            truncation: (),
            padding: (),
            added_tokens: [AddedToken {
                id: NEWLINE,
                content: "\n",
                single_word: false,
                lstrip: false,
                rstrip: false,
                normalized: false,
                special: true,
            }],
            normalizer: (),
            pre_tokenizer: (),
            post_processor: (),
            // Without it, decoding puts a space between two tokens.
            decoder: Decoder { kind: "Fuse" },
            model: Model {
                kind: "BPE",
                dropout: (),
                unk_token: (),
                continuing_subword_prefix: (),
                end_of_word_suffix: (),
                fuse_unk: false,
                byte_fallback: false,
                ignore_merges: false,
                vocab: Entries(
                    vocabulary
                        .iter()
                        .map(|(id, character)| (character.to_string(), id))
                        .collect(),
                ),
                merges: [],
            },
        }
    }
}

/// What is read back of the file: all that fixes the ids.
#[derive(Deserialize)]
struct StoredFile {
    #[serde(default)]
    added_tokens: Vec<StoredToken>,
    model: StoredModel,
}

#[derive(Deserialize)]
struct StoredToken {
    id: TokenId,
    content: String,
}

#[derive(Deserialize)]
struct StoredModel {
    #[serde(rename = "type")]
    kind: String,
    vocab: Entries,
    /// Only BPE has any.
    #[serde(default)]
    merges: Vec<serde_json::Value>,
}

impl StoredFile {
    fn into_vocabulary(self) -> Result<Vocabulary, Damage> {
        let StoredModel {
            kind,
            vocab,
            merges,
        } = self.model;
        if kind != "BPE" || !merges.is_empty() {
            return Err(Damage::Model {
                kind,
                merges: merges.len(),
            });
        }
        let added: BTreeSet<(String, TokenId)> = self
            .added_tokens
            .into_iter()
            .map(|token| (token.content, token.id))
            .collect();
        let mut tokens = vocab.0;
        // Many are in the vocabulary as well.
        let known: HashSet<_> = tokens.iter().cloned().collect();
        tokens.extend(added.iter().filter(|token| !known.contains(token)).cloned());

        let (mut characters, mut others) = (Vec::new(), Vec::new());
        for (token, id) in tokens {
            match single(&token) {
                Some(character) => characters.push((character, id)),
                None => others.push((token, id)),
            }
        }
        let in_texts: HashSet<char> = characters.iter().map(|(character, _)| *character).collect();
        // Behind all characters, and in no text, a token without a character does no harm.
        let is_harmless = |token: &(String, TokenId)| {
            let (name, id) = token;
            let is_in_texts = name.chars().all(|character| in_texts.contains(&character));
            added.contains(token) && *id as usize >= characters.len() && !is_in_texts
        };
        match others.into_iter().find(|token| !is_harmless(token)) {
            Some((token, id)) => Err(Damage::NotOneCharacter { id, token }),
            None => Vocabulary::from_entries(characters),
        }
    }
}

/// The character that a token is.
fn single(token: &str) -> Option<char> {
    let mut characters = token.chars();
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}

/// A JSON object of tokens and ids that keeps its order, and its repeats, as a map would not.
struct Entries(Vec<(String, TokenId)>);

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(token, id)| (token, id)))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tokens and ids")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}
