//! The vocabulary as a folder that Hugging Face tokenizers reads: a BPE model without merges has
//! the single characters as its tokens.

use std::{fmt, fs, path::Path};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::json;
use tang_files::{read_at_most, write_atomically};

use crate::{TokenId, TokenizerError, Vocabulary, error::Damage, vocabulary::NEWLINE};

/// The file with the vocabulary.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
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
    /// file, [`TokenizerError::Damaged`] if its tokens are not single characters with the ids that
    /// [`Vocabulary`] gives them.
    pub fn load(folder: &Path) -> Result<Self, TokenizerError> {
        let path = folder.join(TOKENIZER_FILE);
        let text = read_at_most(MAX_BYTES, &path).map_err(|source| TokenizerError::Io {
            action: "read",
            path: path.clone(),
            source,
        })?;
        let file: StoredFile =
            serde_json::from_slice(&text).map_err(|source| TokenizerError::Json {
                path: path.clone(),
                source,
            })?;
        file.into_vocabulary()
            .map_err(|damage| TokenizerError::Damaged { path, damage })
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
    model: StoredModel,
}

#[derive(Deserialize)]
struct StoredModel {
    #[serde(rename = "type")]
    kind: String,
    vocab: Entries,
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
        let mut entries = Vec::with_capacity(vocab.0.len());
        for (token, id) in vocab.0 {
            let mut chars = token.chars();
            match (chars.next(), chars.next()) {
                (Some(character), None) => entries.push((character, id)),
                _ => return Err(Damage::NotOneCharacter { id, token }),
            }
        }
        Vocabulary::from_entries(entries)
    }
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
