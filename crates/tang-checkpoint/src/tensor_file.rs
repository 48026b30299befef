//! A safetensors file: named tensors and some text.

use std::{collections::BTreeMap, path::Path};

use safetensors::SafeTensors;
use tang_files::{escape_message, read_bounded};

use crate::{ModelError, host_tensor::HostTensor, json_file::other_kind};

/// What a safetensors file holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TensorFile {
    pub tensors: BTreeMap<String, HostTensor>,
    pub metadata: BTreeMap<String, String>,
}

impl TensorFile {
    /// Reads the tensors of a file of which the name is wanted.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no safetensors file, or holds numbers of another kind than floats.
    pub(crate) fn read(path: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Self, ModelError> {
        let bytes = read_bounded(path).map_err(ModelError::io(path))?;
        Self::from_part(&bytes, path, is_wanted)
    }

    /// Reads the contents of a file; `path` is for error messages.
    pub(crate) fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        Self::from_part(bytes, path, |_| true)
    }

    /// Reads the tensors in the contents of a file of which the name is wanted.
    pub(crate) fn from_part(
        bytes: &[u8],
        path: &Path,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, ModelError> {
        let not_readable = |error: safetensors::SafeTensorError| {
            let problem = escape_message(&error.to_string());
            let reason = match other_kind(bytes) {
                Some(kind) => format!("not a readable safetensors file: it {kind}"),
                None => {
                    format!("not a readable safetensors file ({problem}): fetch or train it again")
                }
            };
            ModelError::damaged(path, reason)
        };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(not_readable)?;
        let file = SafeTensors::deserialize(bytes).map_err(not_readable)?;
        let tensors = file
            .iter()
            .filter(|(name, _)| is_wanted(name))
            .map(|(name, view)| Ok((name.to_owned(), HostTensor::from_view(name, &view)?)))
            .collect::<Result<_, ModelError>>()
            .map_err(|e| ModelError::damaged(path, e))?;
        let metadata = header.metadata().clone().unwrap_or_default();
        Ok(Self {
            tensors,
            metadata: metadata.into_iter().collect(),
        })
    }

    /// The contents of a file; of the same, the same bytes.
    pub(crate) fn to_bytes(
        tensors: &BTreeMap<String, HostTensor>,
        metadata: BTreeMap<String, String>,
    ) -> Vec<u8> {
        let sorted = serde_json::to_string(&metadata).expect("text can be written as JSON");
        let mut bytes = safetensors::serialize(tensors, Some(metadata.into_iter().collect()))
            .expect("a host tensor has as many numbers as its shape says");
        // There they stand in the random order of a hash map, first in the header, which begins behind a
        // length of 8 bytes. Sorted they are as long.
        let start = 8 + r#"{"__metadata__":"#.len();
        bytes[start..start + sorted.len()].copy_from_slice(sorted.as_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> TensorFile {
        let tensor = HostTensor::new(vec![2, 3], vec![1.0, -2.0, 3.5, 0.0, 5.0, 6.0]);
        TensorFile {
            tensors: BTreeMap::from([("a".to_owned(), tensor)]),
            metadata: [("format", "pt"), ("b", "\"1\""), ("a", "唐")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        }
    }

    #[test]
    fn round_trip() {
        let bytes = TensorFile::to_bytes(&file().tensors, file().metadata);
        let read = TensorFile::from_bytes(&bytes, Path::new("a")).unwrap();
        assert_eq!(read, file());
    }

    #[test]
    fn the_same_gives_the_same_bytes() {
        let bytes = || TensorFile::to_bytes(&file().tensors, file().metadata);
        let first = bytes();
        // A hash map has six orders.
        assert!((0..50).all(|_| bytes() == first));
        let header = String::from_utf8_lossy(&first[8..]);
        let wanted = r#"{"__metadata__":{"a":"唐","b":"\"1\"","format":"pt"},"a":{"#;
        assert!(header.starts_with(wanted), "{header}");
    }

    #[test]
    fn refuses_damaged_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let bytes = TensorFile::to_bytes(&file().tensors, file().metadata);
        for damaged in [
            &bytes[..bytes.len() - 3],
            &bytes[..4],
            b"",
            b"\x80\x02}q\x00X\x0b\x00\x00\x00a pickle file",
        ] {
            std::fs::write(&path, damaged).unwrap();
            let error = TensorFile::read(&path, |_| true).unwrap_err().to_string();
            assert!(error.contains("not a readable safetensors file"), "{error}");
            assert!(error.contains("model.safetensors"), "{error}");
        }
        let error = TensorFile::read(folder.path(), |_| true).unwrap_err();
        assert!(matches!(error, ModelError::Io { .. }), "{error}");
    }
}
