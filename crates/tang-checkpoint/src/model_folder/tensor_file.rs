//! A safetensors file: named tensors and some text.

use std::{collections::BTreeMap, path::Path};

use safetensors::{SafeTensorError, SafeTensors};
use tang_files::{escape_message, read_bounded};

use super::json_file::other_kind;
use crate::{ModelError, host_tensor::HostTensor};

/// The contents of a safetensors file, or of the shards of a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TensorFile {
    /// By name, which may be in two shards.
    pub tensors: Vec<(String, HostTensor)>,
    pub metadata: BTreeMap<String, String>,
}

impl TensorFile {
    /// Reads a file, and of its tensors those whose name is wanted.
    pub(crate) fn read(path: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Self, ModelError> {
        let bytes = read_bounded(path).map_err(ModelError::io(path))?;
        Self::parse(&bytes, path, is_wanted)
    }

    /// Reads the contents of a file; `path` is for error messages.
    pub(crate) fn parse(
        bytes: &[u8],
        path: &Path,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, ModelError> {
        let not_readable = |error: SafeTensorError| {
            let problem = escape_message(&error.to_string());
            let problem = match other_kind(bytes) {
                Some(kind) => format!(": it {kind}"),
                None => format!(" ({problem}): fetch or train it again"),
            };
            ModelError::damaged(path, format!("not a readable safetensors file{problem}"))
        };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(not_readable)?;
        let file = SafeTensors::deserialize(bytes).map_err(not_readable)?;
        let mut tensors = file
            .iter()
            .filter(|(name, _)| is_wanted(name))
            .map(|(name, view)| Ok((name.to_owned(), HostTensor::from_view(name, &view)?)))
            .collect::<Result<Vec<_>, ModelError>>()
            .map_err(|error| ModelError::damaged(path, error))?;
        tensors.sort_by(|(one, _), (other, _)| one.cmp(other));
        let metadata = header.metadata().clone().unwrap_or_default();
        Ok(Self { tensors, metadata: metadata.into_iter().collect() })
    }

    /// A file of these contents; the same contents give the same bytes.
    pub(crate) fn to_bytes(
        tensors: &BTreeMap<String, HostTensor>,
        metadata: &BTreeMap<String, String>,
    ) -> Vec<u8> {
        let sorted = serde_json::to_string(metadata).expect("text can be written as JSON");
        let metadata = metadata.clone().into_iter().collect();
        let mut bytes = safetensors::serialize(tensors, Some(metadata))
            .expect("a host tensor has as many numbers as its shape says");
        // The metadata are in the random order of a hash map, first in the header, which begins after a
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
            tensors: vec![("a".to_owned(), tensor)],
            metadata: [("format", "pt"), ("b", "\"1\""), ("a", "唐")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        }
    }

    fn bytes() -> Vec<u8> {
        let TensorFile { tensors, metadata } = file();
        TensorFile::to_bytes(&tensors.into_iter().collect(), &metadata)
    }

    #[test]
    fn round_trip() {
        let read = TensorFile::parse(&bytes(), Path::new("a"), |_| true).unwrap();
        assert_eq!(read, file());
    }

    #[test]
    fn the_same_gives_the_same_bytes() {
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
        let bytes = bytes();
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
