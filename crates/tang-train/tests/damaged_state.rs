//! A training state that is damaged is refused by what is wrong, and nothing is written.

#![cfg(test)]

use std::{collections::BTreeMap, fs, ops::ControlFlow, path::Path, sync::Arc};

use burn::tensor::{Bytes, DType};
use burn_pack::{Reader, Scalar, Tensor, Writer};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Value, json};
use tang_checkpoint::ModelConfig;
use tang_corpus::Split;
use tang_engine::Engine;
use tang_model::{device, parameter_id};
use tang_train::{
    Evaluation, Observer, Preset, RunFolder, StepReport, TrainConfig, TrainError, Trainer,
};
use tempfile::TempDir;

fn split() -> Split {
    Split {
        train: vec!["春眠不觉晓".to_owned(), "处处闻啼鸟".to_owned()],
        validation: vec!["夜来风雨声".to_owned()],
        ..Split::default()
    }
}

struct StopAfterTwo;

impl Observer for StopAfterTwo {
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()> {
        match report.step {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn on_evaluation(&mut self, _: &StepReport, _: &Evaluation, _: &Arc<Engine>) {}
}

/// A state in its parts, without its checksum: so each part has to be found out by itself.
struct Parts {
    progress: Value,
    weights: Vec<u8>,
    moments: BTreeMap<String, Tensor>,
    scalars: BTreeMap<String, Scalar>,
}

impl Parts {
    fn of(state: &[u8]) -> Self {
        let (_, header) = SafeTensors::read_metadata(state).unwrap();
        let file = SafeTensors::deserialize(state).unwrap();
        let part = |name| file.tensor(name).unwrap().data().to_vec();
        let reader = Reader::from_bytes(Bytes::from_bytes_vec(part("optimizer"))).unwrap();
        let scalars = reader.scalars().clone();
        let tensors = reader.into_tensors().unwrap().into_iter();
        Self {
            progress: serde_json::from_str(&header.metadata().as_ref().unwrap()["progress"])
                .unwrap(),
            weights: part("weights"),
            moments: tensors.map(|tensor| (tensor.name.clone(), tensor)).collect(),
            scalars,
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(self.moments.values().cloned().collect());
        for (name, value) in &self.scalars {
            writer = writer.with_scalar(name, *value);
        }
        let optimizer = writer.into_bytes().unwrap();
        let blob = |bytes| TensorView::new(Dtype::U8, vec![<[u8]>::len(bytes)], bytes).unwrap();
        let entries = [("weights", blob(&self.weights)), ("optimizer", blob(&optimizer))];
        let metadata = [("progress".to_owned(), self.progress.to_string())].into();
        safetensors::serialize(entries, Some(metadata)).unwrap()
    }

    /// Puts other floats in the place of a moment of the token embedding.
    fn moment(&mut self, name: &str, shape: [usize; 2], values: &[f32]) {
        let name = key(name);
        let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.moment_of(&name, DType::F32, shape.to_vec(), values);
    }

    fn moment_of(&mut self, name: &str, dtype: DType, shape: Vec<usize>, values: Vec<u8>) {
        let owner = self.moments[name].param_id;
        let bytes = Bytes::from_bytes_vec(values);
        let tensor = Tensor::new(name.to_owned(), dtype, shape, owner, bytes);
        self.moments.insert(name.to_owned(), tensor);
    }
}

/// The key of something that the optimiser keeps for the token embedding.
fn key(name: &str) -> String {
    format!("{}.{name}", parameter_id("token_embedding").val())
}

/// 14 characters, two marks and the newline.
const VOCABULARY: usize = 17;
/// Rows of the moments of the embedding: one per token, and one per tone and rhyme group.
const ROWS: usize = VOCABULARY + 32;
const WIDTH: usize = 16;
const SQUARES: &str = "momentum.moment_2";

fn stopped_run() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = TrainConfig { steps: 5, evaluate_every: 1, ..Preset::Quick.config() };
    let model = ModelConfig {
        width: WIDTH,
        feed_forward_width: 32,
        layers: 1,
        context: 24,
        ..ModelConfig::tang_4l(0)
    };
    let trainer = Trainer::start(config, model, split(), folder.path(), &device::cpu());
    trainer.unwrap().run(&mut StopAfterTwo).unwrap();
    folder
}

fn resume(folder: &Path) -> Result<Trainer, TrainError> {
    Trainer::resume(split(), RunFolder::resume(folder)?, &device::cpu())
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// The message with which a state is refused.
fn refused(run: &TempDir, state: &[u8]) -> String {
    fs::write(run.path().join("training_state.safetensors"), state).unwrap();
    let before = files(run.path());
    let error = resume(run.path()).err().unwrap();
    assert!(matches!(error, TrainError::Damaged { .. }), "{error:?}");
    assert!(files(run.path()) == before, "something was written: {error}");
    let message = error.to_string();
    for wanted in ["training_state.safetensors", "start a new run"] {
        assert!(message.contains(wanted), "{message}");
    }
    message
}

type Edit = Box<dyn Fn(&mut Parts)>;

fn edit(edit: impl Fn(&mut Parts) + 'static) -> Edit {
    Box::new(edit)
}

fn progress(pointer: &'static str, value: Value) -> Edit {
    edit(move |parts| *parts.progress.pointer_mut(pointer).unwrap() = value.clone())
}

#[test]
fn what_is_wrong_is_named() {
    let run = stopped_run();
    let state = fs::read(run.path().join("training_state.safetensors")).unwrap();
    let numbers = || vec![0.5_f32; ROWS * WIDTH];
    let with = move |value: f32| [vec![value], numbers()[1..].to_vec()].concat();
    let shape = [ROWS, WIDTH];
    let cases = [
        (
            progress("/model/vocab_size", json!(VOCABULARY + 2)),
            "its model has 19 characters, and its corpus 17",
        ),
        (progress("/model/n_layer", json!(2)), "blocks.1."),
        (progress("/model/n_embd", json!(32)), "[49, 16]"),
        (progress("/model/n_head", json!(0)), "heads is 0"),
        (progress("/model/model_type", json!("mamba")), "mamba"),
        (progress("/step", json!(6)), "6 of 5 steps are done"),
        (progress("/step", json!(-1)), "-1"),
        (progress("/step", json!(3)), "after Some(UInt(2)) steps, the run after 3"),
        (progress("/tokens", json!(0)), "2 steps of at most 4096 characters cannot have seen 0"),
        (progress("/tokens", json!(u64::MAX)), "cannot have seen 18446744073709551615"),
        (progress("/train_seconds", json!(-1.0)), "-1 seconds"),
        (progress("/train/steps", json!(0)), "0 steps"),
        (progress("/train/peak_learning_rate", json!(2)), "a learning rate of 2"),
        (progress("/train/weight_decay", json!(-1)), "weight decay -1"),
        (progress("", json!({})), "missing field"),
        (progress("", json!("progress")), "invalid type"),
        (
            edit(|parts| parts.moment("momentum.moment_1", [2, 3], &[0.0; 6])),
            "`momentum.moment_1` of `token_embedding` has shape [2, 3], wanted [49, 16]",
        ),
        (edit(move |parts| parts.moment(SQUARES, [WIDTH, ROWS], &numbers())), "has shape [16, 49]"),
        (
            edit(|parts| {
                let flat = vec![0; 4 * ROWS * WIDTH];
                parts.moment_of(&key(SQUARES), DType::F32, vec![ROWS * WIDTH], flat);
            }),
            "has shape [784]",
        ),
        (
            edit(|parts| {
                let halves = vec![0; 2 * ROWS * WIDTH];
                let shape = vec![ROWS, WIDTH];
                parts.moment_of(&key(SQUARES), DType::F16, shape, halves);
            }),
            "`momentum.moment_2` of `token_embedding` is stored as F16",
        ),
        (edit(move |parts| parts.moment(SQUARES, shape, &with(f32::NAN))), "holds NaN"),
        (edit(move |parts| parts.moment(SQUARES, shape, &with(f32::INFINITY))), "holds inf"),
        (edit(move |parts| parts.moment(SQUARES, shape, &with(-0.5))), "holds -0.5"),
        (
            edit(|parts| drop(parts.moments.remove(&key(SQUARES)))),
            "`momentum.moment_2` of `token_embedding` is missing",
        ),
        (edit(|parts| parts.moments.clear()), "is missing"),
        (
            edit(|parts| {
                let bytes = Bytes::from_bytes_vec(vec![0; 4]);
                let tensor = Tensor::new("7.x".to_owned(), DType::F32, vec![1], Some(7), bytes);
                parts.moments.insert("7.x".to_owned(), tensor);
            }),
            "`7.x` belongs to no parameter",
        ),
        (
            edit(|parts| parts.scalars.extend([("7.__rank".to_owned(), Scalar::UInt(9))])),
            "`7.__rank` belongs to no parameter",
        ),
        (
            edit(|parts| parts.scalars.extend([(key("__rank"), Scalar::UInt(9))])),
            "the rank of `token_embedding` is Some(UInt(9))",
        ),
        (
            edit(|parts| {
                let name = key(SQUARES);
                parts.moments.get_mut(&name).unwrap().param_id = None;
            }),
            "marked as another parameter's",
        ),
        (edit(|parts| parts.weights.truncate(40)), "not a readable safetensors file"),
        (
            edit(|parts| {
                let end = parts.weights.len();
                parts.weights[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
            }),
            "holds infinite numbers or none",
        ),
        (
            edit(|parts| {
                let header = String::from_utf8_lossy(&parts.weights).into_owned();
                let place = header.find("token_embedding").unwrap();
                parts.weights[place..place + 5].copy_from_slice(b"other");
            }),
            "`token_embedding` is missing",
        ),
    ];
    for (edit, wanted) in cases {
        let mut parts = Parts::of(&state);
        edit(&mut parts);
        let message = refused(&run, &parts.to_bytes());
        assert!(message.contains(wanted), "{wanted}: {message}");
    }
    // Without an edit it is as good as it was.
    let state = Parts::of(&state).to_bytes();
    fs::write(run.path().join("training_state.safetensors"), state).unwrap();
    assert_eq!(resume(run.path()).unwrap().step(), 2);
}

/// Another seed, a weight or a moment that is a little larger: nothing but the checksum can see that.
#[test]
fn a_changed_byte_is_found() {
    let run = stopped_run();
    let state = fs::read(run.path().join("training_state.safetensors")).unwrap();
    let pattern = br#"\"seed\":0"#;
    let seed = state.windows(pattern.len()).position(|piece| piece == pattern);
    let seed = seed.unwrap() + pattern.len() - 1;
    let part = |name: &str| {
        let file = SafeTensors::deserialize(&state).unwrap();
        let data = file.tensor(name).unwrap().data();
        // The lowest bits of its last number.
        data.as_ptr() as usize - state.as_ptr() as usize + data.len() - 4
    };
    for (place, bit) in [(seed, 1), (part("weights"), 1), (part("optimizer"), 1)] {
        let mut changed = state.clone();
        changed[place] ^= bit;
        let message = refused(&run, &changed);
        assert!(message.contains("its checksum is another"), "{message}");
    }
    fs::write(run.path().join("training_state.safetensors"), state).unwrap();
    assert_eq!(resume(run.path()).unwrap().step(), 2);
}
