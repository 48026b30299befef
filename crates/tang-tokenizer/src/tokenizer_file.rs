//! The vocabulary as a folder that Hugging Face tokenizers reads: a BPE model without merges has the single
//! characters as its tokens.

use std::{
    collections::{BTreeSet, HashSet},
    fmt, fs,
    path::Path,
};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use tang_files::{FileKind, escape_value, read_at_most, write_atomically};

use crate::{TokenId, TokenizerError, Vocabulary};

/// The file with the vocabulary.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// The file that tells transformers which class reads [`TOKENIZER_FILE`].
pub const TOKENIZER_CONFIG_FILE: &str = "tokenizer_config.json";
/// The mark that some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The most bytes of [`TOKENIZER_FILE`]: it may have each character of Unicode, and other models have as many tokens
/// with their merges.
const MAX_BYTES: u64 = 64 << 20;

const CONFIG: &str = r#"{
  "bos_token": "\n",
  "clean_up_tokenization_spaces": false,
  "eos_token": "\n",
  "tokenizer_class": "PreTrainedTokenizerFast"
}
"#;

/// [`TOKENIZER_FILE`] up to the entries of the vocabulary. Without the decoder `Fuse`, decoding would put a space
/// between two tokens.
const HEAD: &str = r#"{
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": [
    {
      "id": 0,
      "content": "\n",
      "single_word": false,
      "lstrip": false,
      "rstrip": false,
      "normalized": false,
      "special": true
    }
  ],
  "normalizer": null,
  "pre_tokenizer": null,
  "post_processor": null,
  "decoder": {
    "type": "Fuse"
  },
  "model": {
    "type": "BPE",
    "dropout": null,
    "unk_token": null,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": false,
    "vocab": {
"#;

/// [`TOKENIZER_FILE`] after the entries of the vocabulary.
const TAIL: &str = r#"
    },
    "merges": []
  }
}
"#;

impl Vocabulary {
    /// Writes [`TOKENIZER_FILE`] and [`TOKENIZER_CONFIG_FILE`] into `folder`, which is created if it is missing.
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
        let string = |c: char| serde_json::Value::from(c.to_string());
        let entries = self.iter().map(|(id, c)| format!("      {}: {id}", string(c)));
        let entries: Vec<String> = entries.collect();
        let text = [HEAD, &entries.join(",\n"), TAIL].concat();
        for (name, text) in [(TOKENIZER_CONFIG_FILE, CONFIG), (TOKENIZER_FILE, &text)] {
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
    /// [`TokenizerError::Io`] if it cannot be read, [`TokenizerError::Json`] if it is no tokenizer file,
    /// [`TokenizerError::Damaged`] if its tokens are not single characters with ids from 0 on, the first three of
    /// which are fixed. Added tokens without a character, such as `<pad>`, may follow.
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
            .map_err(|damage| TokenizerError::Damaged { path: path.to_owned(), damage })
    }
}

/// The part of the file that fixes the ids.
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
    #[serde(deserialize_with = "entries")]
    vocab: Vec<(String, TokenId)>,
    /// Empty if the file has no merges: only BPE has them.
    #[serde(default)]
    merges: Vec<serde_json::Value>,
}

impl StoredFile {
    /// The vocabulary, or the reason why the file has none.
    fn into_vocabulary(self) -> Result<Vocabulary, String> {
        let StoredModel { kind, vocab: mut tokens, merges } = self.model;
        if kind != "BPE" || !merges.is_empty() {
            let (kind, merges) = (escape_value(&kind), merges.len());
            return Err(format!(
                "its model is {kind} with {merges} merges, wanted BPE with 0 merges"
            ));
        }
        let added = self.added_tokens.into_iter();
        let added: BTreeSet<_> = added.map(|token| (token.content, token.id)).collect();
        // Many added tokens are in the vocabulary of the model as well.
        let known: HashSet<_> = tokens.iter().cloned().collect();
        tokens.extend(added.iter().filter(|token| !known.contains(token)).cloned());

        let (mut characters, mut others) = (Vec::new(), Vec::new());
        for (token, id) in tokens {
            match token.parse::<char>() {
                Ok(character) => characters.push((character, id)),
                Err(_) => others.push((token, id)),
            }
        }
        let in_texts: HashSet<char> = characters.iter().map(|(character, _)| *character).collect();
        // A longer token is harmless if its id comes after those of all characters and no text can
        // contain it.
        let is_harmless = |token: &(String, TokenId)| {
            let (name, id) = token;
            let is_in_texts = name.chars().all(|character| in_texts.contains(&character));
            added.contains(token) && *id as usize >= characters.len() && !is_in_texts
        };
        if let Some((token, id)) = others.iter().find(|token| !is_harmless(token)) {
            let token = escape_value(token);
            return Err(format!("token {id} is `{token}`, wanted a single character"));
        }
        Vocabulary::from_entries(characters)
    }
}

/// The entries of a JSON object of tokens and ids, in order and with duplicates, which a map would
/// drop.
fn entries<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(String, TokenId)>, D::Error> {
    struct Entries;

    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(String, TokenId)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of tokens and ids")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            std::iter::from_fn(|| map.next_entry().transpose()).collect()
        }
    }

    input.deserialize_map(Entries)
}
