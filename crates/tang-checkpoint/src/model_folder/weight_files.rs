//! The files of a model folder with the weights: one, or shards with an index.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path},
};

use serde::Deserialize;
use tang_files::{escape_value, read_bounded};

use super::{TensorFile, json_file};
use crate::ModelError;

/// The file with all weights.
pub(crate) const WEIGHTS_FILE: &str = "model.safetensors";
/// The file that says which shard has which tensor, if there are several.
const INDEX_FILE: &str = "model.safetensors.index.json";
/// Most bytes of all shards together, as many as one file may have.
const MAX_BYTES: u64 = 1 << 30;
/// Beginnings and endings of the names of weights that other programs write.
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

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The file of a folder that has the weights or lists their shards. A single file is preferred to
/// shards, as in transformers.
pub(crate) fn weights_name(folder: &Path) -> &'static str {
    if !folder.join(WEIGHTS_FILE).exists() && folder.join(INDEX_FILE).exists() {
        INDEX_FILE
    } else {
        WEIGHTS_FILE
    }
}

/// Reads the tensors whose name is wanted; no others, of whatever type they are.
pub(crate) fn read_weights(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<TensorFile, ModelError> {
    let path = folder.join(weights_name(folder));
    if path.ends_with(INDEX_FILE) {
        read_shards(folder, &path, is_wanted)
    } else if path.exists() {
        TensorFile::read(&path, is_wanted)
    } else {
        Err(missing(folder))
    }
}

fn read_shards(
    folder: &Path,
    index_path: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<TensorFile, ModelError> {
    let damaged = |reason: String| Err(ModelError::damaged(index_path, reason));
    let bytes = read_bounded(index_path).map_err(ModelError::io(index_path))?;
    let Index { weight_map } = json_file::parse(&bytes, index_path)?;
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, file) in &weight_map {
        files.entry(file).or_default().push(name);
    }
    let mut size = 0;
    for file in files.keys() {
        let shown = escape_value(file);
        if !is_plain_name(file) {
            return damaged(format!("`{shown}` is not the name of a file in this folder"));
        }
        match fs::metadata(folder.join(file)) {
            Ok(found) if found.is_file() => size += found.len(),
            _ => {
                return damaged(format!(
                    "the file `{shown}` with part of the weights is missing: fetch it into the same folder"
                ));
            }
        }
    }
    if size > MAX_BYTES {
        let count = files.len();
        return damaged(format!(
            "its {count} files have {size} bytes together: at most {MAX_BYTES} are read"
        ));
    }
    let mut all = TensorFile { tensors: Vec::new(), metadata: BTreeMap::new() };
    for (file, names) in files {
        let shard = TensorFile::read(&folder.join(file), &is_wanted)?;
        let found: BTreeSet<&str> = shard.tensors.iter().map(|(name, _)| name.as_str()).collect();
        let is_missing = |name: &&str| is_wanted(name) && !found.contains(name);
        if let Some(name) = names.into_iter().find(is_missing) {
            return damaged(format!(
                "tensor `{}` is not in {}, where it should be: fetch all files of the model again",
                escape_value(name),
                escape_value(file)
            ));
        }
        all.tensors.extend(shard.tensors);
        for (key, value) in shard.metadata {
            if all.metadata.get(&key).is_some_and(|other| *other != value) {
                return damaged(format!(
                    "{} belongs to another model than the files before it: fetch all files again",
                    escape_value(file)
                ));
            }
            all.metadata.insert(key, value);
        }
    }
    Ok(all)
}

/// Whether a name from a file leads to a file of the same folder. A link in the folder may lead out
/// of it: it belongs to the folder, not to the index.
fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
    is_one && !name.contains(['/', '\\', ':', '\0'])
}

/// The reason why a folder has no weights.
fn missing(folder: &Path) -> ModelError {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names: BTreeSet<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let is_other = |name: &&String| {
        let mut formats = OTHER_FORMATS.iter();
        formats.any(|(start, end)| name.starts_with(start) && name.ends_with(end))
    };
    if let Some(found) = names.iter().find(is_other) {
        let reason = format!(
            "its weights are in `{}`, which is not read: load the model in Python with Hugging Face transformers, \
             and write it with `model.save_pretrained(folder, safe_serialization=True)`",
            escape_value(found)
        );
        return ModelError::damaged(folder, reason);
    }
    let is_shard = |name: &String| name.contains("-of-") && name.ends_with(".safetensors");
    let missing = if names.iter().any(is_shard) {
        format!("{WEIGHTS_FILE}, or {INDEX_FILE} for the parts that are there,")
    } else {
        WEIGHTS_FILE.to_owned()
    };
    ModelError::NoModel { path: folder.to_owned(), missing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_tensor::HostTensor;

    fn tensor(value: f32) -> HostTensor {
        HostTensor::new(vec![1], vec![value])
    }

    /// A folder of two shards, `one.safetensors` with `a` and `b`, `two.safetensors` with `c`.
    fn folder(index: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, tensors: &[(&str, f32)]| {
            let tensors =
                tensors.iter().map(|(name, value)| ((*name).to_owned(), tensor(*value))).collect();
            let bytes = TensorFile::to_bytes(&tensors, &BTreeMap::new());
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
        // A single file is preferred to them.
        fs::copy(folder.path().join("two.safetensors"), folder.path().join(WEIGHTS_FILE)).unwrap();
        assert_eq!(read_weights(folder.path(), |_| true).unwrap().tensors.len(), 1);
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
            (with_first("three.safetensors"), "`three.safetensors` with part"),
            (with_first("two.safetensors"), "tensor `a` is not in two"),
            ("{}".to_owned(), "weight_map"),
            ("{".to_owned(), "not JSON"),
        ] {
            let folder = folder(&index);
            let error = read_weights(folder.path(), |_| true).err().unwrap().to_string();
            assert!(error.contains(word) && error.contains(INDEX_FILE), "{error}");
        }
    }

    #[test]
    fn shards_are_measured_before_they_are_read() {
        let folder = folder(&index(GOOD));
        let large = fs::File::create(folder.path().join("two.safetensors")).unwrap();
        large.set_len(MAX_BYTES).unwrap();
        let error = read_weights(folder.path(), |_| true).err().unwrap().to_string();
        assert!(error.contains("2 files have 10737"), "{error}");
    }

    #[test]
    fn weights_of_another_program_are_told_with_what_to_do() {
        for name in ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "tf_model.h5"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), "x").unwrap();
            let error = read_weights(folder.path(), |_| true).err().unwrap().to_string();
            assert!(error.contains(name), "{error}");
            assert!(error.contains("safe_serialization=True"), "{error}");
        }
        let folder = folder("{}");
        fs::remove_file(folder.path().join(INDEX_FILE)).unwrap();
        let shard = folder.path().join("model-00001-of-00002.safetensors");
        fs::rename(folder.path().join("one.safetensors"), shard).unwrap();
        let error = read_weights(folder.path(), |_| true).err().unwrap().to_string();
        assert!(error.contains("for the parts that are there"), "{error}");
        // Files of a trainer are not the weights.
        let empty = tempfile::tempdir().unwrap();
        for name in ["training_args.bin", "optimizer.pt", "training_state.safetensors"] {
            fs::write(empty.path().join(name), "x").unwrap();
        }
        let error = read_weights(empty.path(), |_| true).err().unwrap().to_string();
        assert!(error.contains("(model.safetensors is missing)"), "{error}");
    }
}
