//! The files of a checkpoint folder that hold the weights: one, or shards with an index.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path},
};

use serde::Deserialize;
use tang_files::{escape_value, read_bounded};

use crate::{ModelError, host_tensor::HostTensor, json_file, tensor_file::TensorFile};

/// The file of a checkpoint folder that holds the weights.
pub const WEIGHTS_FILE: &str = "model.safetensors";
/// The file that says which shard holds which tensor, if there are several.
const INDEX_FILE: &str = "model.safetensors.index.json";
/// Most bytes of all shards together, as many as one file may have.
const MAX_BYTES: u64 = 1 << 30;
/// Beginnings and endings of files in which other programs keep weights.
const OTHER_FORMATS: [(&str, &str); 9] = [
    ("pytorch_model", ".bin"),
    ("model", ".bin"),
    ("model", ".pt"),
    ("model", ".ckpt"),
    ("consolidated", ".pth"),
    ("tf_model", ".h5"),
    ("flax_model", ".msgpack"),
    ("", ".gguf"),
    ("", ".onnx"),
];

/// All tensors of a folder that are wanted, and the text beside them.
pub(crate) struct StoredWeights {
    /// A name may stand in two shards.
    pub tensors: Vec<(String, HostTensor)>,
    pub metadata: BTreeMap<String, String>,
}

impl From<TensorFile> for StoredWeights {
    fn from(TensorFile { tensors, metadata }: TensorFile) -> Self {
        Self {
            tensors: tensors.into_iter().collect(),
            metadata,
        }
    }
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// Where a folder has its weights, for error messages.
pub(crate) fn weights_name(folder: &Path) -> &'static str {
    match is_sharded(folder) {
        true => INDEX_FILE,
        false => WEIGHTS_FILE,
    }
}

/// Reads the tensors of which the name is wanted; no others, whatever they are stored as.
///
/// # Errors
///
/// [`ModelError::NoModel`] if there are no weights, [`ModelError::OtherFormat`] if there are some of another
/// program; [`ModelError::Damaged`] if a file is damaged, or an index names a file that is not in the
/// folder.
pub(crate) fn read_weights(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<StoredWeights, ModelError> {
    if is_sharded(folder) {
        return read_shards(folder, is_wanted);
    }
    let path = folder.join(WEIGHTS_FILE);
    if !path.exists() {
        return Err(missing(folder));
    }
    Ok(TensorFile::read(&path, is_wanted)?.into())
}

/// One file goes before shards, as in transformers.
fn is_sharded(folder: &Path) -> bool {
    !folder.join(WEIGHTS_FILE).exists() && folder.join(INDEX_FILE).exists()
}

fn read_shards(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<StoredWeights, ModelError> {
    let index_path = folder.join(INDEX_FILE);
    let damaged = |reason: String| ModelError::damaged(&index_path, reason);
    let bytes = read_bounded(&index_path).map_err(ModelError::io(&index_path))?;
    let Index { weight_map } = json_file::parse(&bytes, &index_path)?;
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, file) in &weight_map {
        files.entry(file).or_default().push(name);
    }
    let mut size = 0;
    for file in files.keys() {
        let shown = escape_value(file);
        if !is_plain_name(file) {
            let reason = format!("`{shown}` is not the name of a file in this folder");
            return Err(damaged(reason));
        }
        let path = folder.join(file);
        let found = fs::metadata(&path);
        if !found.as_ref().is_ok_and(fs::Metadata::is_file) {
            let reason = format!(
                "the file `{shown}` with part of the weights is missing: fetch it into the same folder"
            );
            return Err(damaged(reason));
        }
        size += found.map_err(ModelError::io(&path))?.len();
    }
    if size > MAX_BYTES {
        let reason = format!(
            "its {} files have {size} bytes together: at most {MAX_BYTES} are read",
            files.len()
        );
        return Err(damaged(reason));
    }
    let mut all = StoredWeights {
        tensors: Vec::new(),
        metadata: BTreeMap::new(),
    };
    for (file, mut names) in files {
        let shard = TensorFile::read(&folder.join(file), &is_wanted)?;
        names.retain(|name| is_wanted(name) && !shard.tensors.contains_key(*name));
        if let Some(name) = names.first() {
            let reason = format!(
                "tensor `{}` is not in {}, where it should be: fetch all files of the model again",
                escape_value(name),
                escape_value(file)
            );
            return Err(damaged(reason));
        }
        all.tensors.extend(shard.tensors);
        for (key, value) in shard.metadata {
            let other = all.metadata.insert(key, value.clone());
            if other.is_some_and(|other| other != value) {
                let reason = format!(
                    "{} belongs to another model than the files before it: fetch all files again",
                    escape_value(file)
                );
                return Err(damaged(reason));
            }
        }
    }
    Ok(all)
}

/// Whether a name from a file leads to a file of the same folder. A link that lies there may lead out of
/// it: who made the folder made the link.
fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
    is_one && !name.contains(['/', '\\', ':', '\0'])
}

/// Why a folder has no weights.
fn missing(folder: &Path) -> ModelError {
    let path = folder.to_owned();
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    let is_other = |name: &&String| {
        let mut formats = OTHER_FORMATS.iter();
        formats.any(|(start, end)| name.starts_with(start) && name.ends_with(end))
    };
    let is_shard = |name: &String| name.contains("-of-") && name.ends_with(".safetensors");
    if let Some(found) = names.iter().find(is_other) {
        let found = found.clone();
        return ModelError::OtherFormat { path, found };
    }
    let missing = match names.iter().any(is_shard) {
        true => format!("{WEIGHTS_FILE}, or {INDEX_FILE} for the parts that are there,"),
        false => WEIGHTS_FILE.to_owned(),
    };
    ModelError::NoModel { path, missing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(value: f32) -> HostTensor {
        HostTensor::new(vec![1], vec![value])
    }

    /// A folder of two shards, `one.safetensors` with `a` and `b`, `two.safetensors` with `c`.
    fn folder(index: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, tensors: &[(&str, f32)]| {
            let tensors = tensors
                .iter()
                .map(|(name, value)| ((*name).to_owned(), tensor(*value)))
                .collect();
            let bytes = TensorFile::to_bytes(&tensors, BTreeMap::new());
            fs::write(folder.path().join(name), bytes).unwrap();
        };
        write("one.safetensors", &[("a", 1.0), ("b", 2.0)]);
        write("two.safetensors", &[("c", 3.0)]);
        fs::write(folder.path().join(INDEX_FILE), index).unwrap();
        folder
    }

    fn index(files: [&str; 3]) -> String {
        let [a, b, c] = files;
        let map = serde_json::json!({"a": a, "b": b, "c": c});
        serde_json::json!({"metadata": {"total_size": 12}, "weight_map": map}).to_string()
    }

    const GOOD: [&str; 3] = ["one.safetensors", "one.safetensors", "two.safetensors"];

    #[test]
    fn shards_are_put_together() {
        let folder = folder(&format!("\u{feff}{}", index(GOOD)));
        let read = read_weights(folder.path(), |name| name != "b").unwrap();
        let wanted = [("a".to_owned(), tensor(1.0)), ("c".to_owned(), tensor(3.0))];
        assert_eq!(read.tensors, wanted);
        // One file goes before them.
        fs::copy(
            folder.path().join("two.safetensors"),
            folder.path().join(WEIGHTS_FILE),
        )
        .unwrap();
        assert_eq!(
            read_weights(folder.path(), |_| true).unwrap().tensors.len(),
            1
        );
    }

    #[test]
    fn an_index_that_does_not_fit_is_told() {
        let outside = tempfile::tempdir().unwrap();
        let absolute = outside.path().join("one.safetensors");
        let absolute = absolute.to_str().unwrap();
        let with_first = |name| index([name, GOOD[1], GOOD[2]]);
        for (index, word) in [
            (with_first("../one.safetensors"), "not the name of a file"),
            (with_first("./one.safetensors"), "not the name of a file"),
            (with_first("sub/one.safetensors"), "not the name of a file"),
            (with_first("..\\one.safetensors"), "not the name of a file"),
            (with_first(".."), "not the name of a file"),
            (with_first(""), "not the name of a file"),
            (with_first(absolute), "not the name of a file"),
            (with_first("\u{1b}/a"), r"`\u{1b}/a`"),
            (
                with_first("three.safetensors"),
                "`three.safetensors` with part",
            ),
            (with_first("two.safetensors"), "tensor `a` is not in two"),
            ("{}".to_owned(), "weight_map"),
            ("{".to_owned(), "not JSON"),
        ] {
            let folder = folder(&index);
            let error = read_weights(folder.path(), |_| true)
                .err()
                .unwrap()
                .to_string();
            assert!(
                error.contains(word) && error.contains(INDEX_FILE),
                "{error}"
            );
        }
    }

    #[test]
    fn shards_are_measured_before_they_are_read() {
        let folder = folder(&index(GOOD));
        let large = fs::File::create(folder.path().join("two.safetensors")).unwrap();
        large.set_len(MAX_BYTES).unwrap();
        let error = read_weights(folder.path(), |_| true)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("2 files have 10737"), "{error}");
    }

    #[test]
    fn weights_of_another_program_are_told_with_what_to_do() {
        for name in [
            "pytorch_model.bin",
            "pytorch_model-00001-of-00002.bin",
            "tf_model.h5",
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), "x").unwrap();
            let error = read_weights(folder.path(), |_| true)
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(name), "{error}");
            assert!(error.contains("safe_serialization=True"), "{error}");
        }
        let folder = folder("{}");
        fs::remove_file(folder.path().join(INDEX_FILE)).unwrap();
        let shard = folder.path().join("model-00001-of-00002.safetensors");
        fs::rename(folder.path().join("one.safetensors"), shard).unwrap();
        let error = read_weights(folder.path(), |_| true)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("for the parts that are there"), "{error}");
        // What a trainer leaves is not the weights.
        let empty = tempfile::tempdir().unwrap();
        for name in [
            "training_args.bin",
            "optimizer.pt",
            "training_state.safetensors",
        ] {
            fs::write(empty.path().join(name), "x").unwrap();
        }
        let error = read_weights(empty.path(), |_| true)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("(model.safetensors is missing)"), "{error}");
    }
}
