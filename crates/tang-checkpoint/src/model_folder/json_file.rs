//! JSON files of a model folder.

use std::path::Path;

use serde::de::DeserializeOwned;
use tang_files::escape_value;

use crate::ModelError;

/// The mark that some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads JSON, with a byte order mark before it or not; `path` is for error messages.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<T, ModelError> {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    serde_json::from_slice(text).map_err(|error| {
        let problem = escape_value(&error.to_string());
        let reason = match other_kind(bytes) {
            Some(kind) => kind.to_owned(),
            None if error.is_data() => problem,
            None => format!("not JSON ({problem}): fetch the file again"),
        };
        ModelError::damaged(path, reason)
    })
}

/// The kind of a file that is not what its name says, and the way to the right one.
pub(crate) fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    let text = bytes.trim_ascii_start();
    let begins_with = |start: &[u8]| {
        let head = text.get(..start.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(start))
    };
    if begins_with(b"version https://git-lfs") {
        Some("holds a pointer of Git LFS: run `git lfs pull` where it was cloned")
    } else if begins_with(b"<!doctype") || begins_with(b"<html") {
        Some("holds a web page: fetch the file, not the page that shows it")
    } else if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        Some("is UTF-16: write it again as UTF-8 (`iconv -f UTF-16 -t UTF-8`)")
    } else if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\x80\x02") {
        Some(
            "holds a Python pickle: write it again with \
             `model.save_pretrained(folder, safe_serialization=True)`",
        )
    } else if bytes.starts_with(b"GGUF") {
        Some("holds a GGUF model: fetch the model in its Hugging Face form")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(bytes: &[u8]) -> Result<Value, ModelError> {
        parse(bytes, Path::new("config.json"))
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(read(b"\xef\xbb\xbf{\"a\": 1}").unwrap(), json!({"a": 1}));
        assert_eq!(read(b" [] ").unwrap(), json!([]));
    }

    #[test]
    fn advice_fits_what_the_file_is() {
        for (bytes, word) in [
            (&b"{\"a\": 1"[..], "fetch the file again"),
            (b"", "fetch the file again"),
            (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
            (b"\n<!DOCTYPE html><html>", "web page"),
            (b"\xff\xfe{\0}\0", "iconv"),
            (b"PK\x03\x04", "save_pretrained"),
        ] {
            let error = read(bytes).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("config.json"), "{error}");
        }
        let error = parse::<Vec<u8>>(b"{}", Path::new("a.json")).unwrap_err();
        assert!(!error.to_string().contains("fetch"), "{error}");
    }
}
