//! Every file that the project reads, damaged ten thousand times: a reader refuses it or reads it, and
//! neither panics nor takes memory without bound.

#![cfg(test)]

#[path = "../../tang-files/tests/support/mutator.rs"]
mod mutator;

use std::{fs, io::Write, ops::ControlFlow, path::Path, sync::Arc};

use flate2::{Compression, write::GzEncoder};
use mutator::{Mutator, attack, peak_mebibytes};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use tang_checkpoint::{Family, ModelConfig, ModelFolder, Weights};
use tang_corpus::{Collections, Corpus, CorpusFolder, Split};
use tang_engine::{Engine, Threads};
use tang_model::device;
use tang_tokenizer::Vocabulary;
use tang_train::{
    Evaluation, Observer, Plan, Preset, RunFolder, RunLog, StepReport, TrainConfig, Trainer,
    evaluate,
};
use tempfile::TempDir;

/// The most memory that a reader may take; the damaged files are small.
const MOST_MEBIBYTES: usize = 1024;

const POEMS: [&str; 4] = [
    "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
    "红豆生南国，秋来发故枝。愿君多采撷，此物最相思。",
    "千山鸟飞绝，万径人踪灭。孤舟蓑笠翁，独钓寒江雪。",
    "朝辞白帝彩云间，千里江陵一日还。两岸猿声啼不尽，轻舟已过万重山。",
];

fn split() -> Split {
    let poems = POEMS.map(str::to_owned);
    Split::of(&poems).unwrap()
}

fn is_within_bounds() {
    if let Some(peak) = peak_mebibytes() {
        assert!(peak < MOST_MEBIBYTES, "{peak} MiB");
    }
}

/// Stops a run after three of its steps.
struct StopAfterThree;

impl Observer for StopAfterThree {
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()> {
        match report.step {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn on_evaluation(&mut self, _: &StepReport, _: &Evaluation, _: &Arc<Engine>) {}
}

fn tiny(config: ModelConfig) -> ModelConfig {
    ModelConfig {
        width: 8,
        feed_forward_width: 16,
        layers: 1,
        heads: 2,
        kv_heads: if config.family == Family::Gpt2 { 2 } else { 1 },
        context: 40,
        ..config
    }
}

fn stopped_run() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = TrainConfig { steps: 20, batch_tokens: 48, ..Preset::Quick.config() };
    let model = tiny(ModelConfig::tang_4l(0));
    let trainer = Trainer::start(config, model, split(), folder.path(), &device::cpu());
    trainer.unwrap().run(&mut StopAfterThree).unwrap();
    folder
}

/// A state whose parts are damaged, and which has no checksum, so that each part is looked at.
fn damaged_state(mutator: &mut Mutator, state: &[u8]) -> Vec<u8> {
    let (_, header) = SafeTensors::read_metadata(state).unwrap();
    let file = SafeTensors::deserialize(state).unwrap();
    let mut progress = header.metadata().clone().unwrap()["progress"].clone();
    let part = |name| file.tensor(name).unwrap().data().to_vec();
    let (mut weights, mut optimizer) = (part("weights"), part("optimizer"));
    // Burn's record begins with 10 bytes and a description whose length they say.
    let (_, [a, b, c, d, ..]) = optimizer.split_at(6) else {
        panic!("no record");
    };
    let described = 10 + u32::from_le_bytes([*a, *b, *c, *d]) as usize;
    match mutator.below(6) {
        0 => return mutator.bytes(state),
        1 => return mutator.tensors(state),
        2 => {
            let text = mutator.text(progress.as_bytes());
            progress = String::from_utf8_lossy(&text).into_owned();
        }
        3 => weights = mutator.tensors(&weights),
        4 => {
            let description = mutator.bytes(&optimizer[..described]);
            optimizer.splice(..described, description);
        }
        _ => {
            let moments = mutator.floats(&optimizer[described..]);
            optimizer.splice(described.., moments);
        }
    }
    let blob = |bytes| TensorView::new(Dtype::U8, vec![<[u8]>::len(bytes)], bytes).unwrap();
    let entries = [("weights", blob(&weights)), ("optimizer", blob(&optimizer))];
    let metadata = [("progress".to_owned(), progress)].into();
    safetensors::serialize(entries, Some(metadata)).unwrap()
}

#[test]
fn training_states() {
    let run = stopped_run();
    let path = run.path().join("training_state.safetensors");
    let state = fs::read(&path).unwrap();
    attack(
        "training_state.safetensors",
        3000,
        |mutator| damaged_state(mutator, &state),
        |state| {
            fs::write(&path, state).unwrap();
            // It goes on with the run for some steps, and writes nothing.
            let plan = Plan::of_rest(run.path(), split(), &device::cpu());
            plan.map(drop).map_err(|e| e.to_string())
        },
    );
    is_within_bounds();
}

#[test]
fn logs_of_runs() {
    let run = stopped_run();
    let path = run.path().join("log.jsonl");
    let line = fs::read_to_string(&path).unwrap();
    let log = [line.as_str(); 3].concat();
    attack(
        "log.jsonl",
        600,
        |mutator| mutator.text(log.as_bytes()),
        |log| {
            fs::write(&path, log).unwrap();
            let read = RunLog::read(&path).map(drop);
            let folder = RunFolder::resume(run.path()).unwrap();
            let resumed = Trainer::resume(split(), folder, &device::cpu()).map(drop);
            assert_eq!(read.is_ok(), resumed.is_ok());
            resumed.map_err(|e| e.to_string())
        },
    );
    is_within_bounds();
}

/// Reads a model, and a poem with it if it has a token for each character.
fn read_model(folder: &Path, vocabulary: &Vocabulary) -> Result<(), String> {
    let (config, weights) = ModelFolder::open(folder).map_err(|e| e.to_string())?.into_parts();
    let engine = Engine::pack(&config, &weights).map_err(|e| e.to_string())?;
    if config.vocab_size == vocabulary.len() {
        let poems = [POEMS[0].to_owned()];
        evaluate(&engine, &poems, vocabulary, Threads::ONE).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn attack_model(file: &str, times: usize, damage: impl Fn(&mut Mutator, &[u8]) -> Vec<u8> + Copy) {
    let vocabulary = split().vocabulary();
    for config in [ModelConfig::tang_4l(0), ModelConfig::minimind_4l(0)] {
        let folder = tempfile::tempdir().unwrap();
        let config = ModelConfig { vocab_size: vocabulary.len(), ..tiny(config) };
        let weights = Weights::random(&config, 0);
        ModelFolder::save(folder.path(), &config, &weights, &vocabulary.fingerprint()).unwrap();
        let path = folder.path().join(file);
        let good = fs::read(&path).unwrap();
        attack(
            file,
            times,
            |mutator| damage(mutator, &good),
            |bytes| {
                fs::write(&path, bytes).unwrap();
                read_model(folder.path(), &vocabulary)
            },
        );
    }
    is_within_bounds();
}

#[test]
fn weights_of_models() {
    attack_model("model.safetensors", 700, |mutator, file| mutator.tensors(file));
}

#[test]
fn configurations_of_models() {
    attack_model("config.json", 700, |mutator, file| mutator.text(file));
}

#[test]
fn vocabularies() {
    let folder = tempfile::tempdir().unwrap();
    split().vocabulary().save(folder.path()).unwrap();
    let path = folder.path().join("tokenizer.json");
    let good = fs::read(&path).unwrap();
    attack(
        "tokenizer.json",
        1000,
        |mutator| mutator.text(&good),
        |bytes| {
            fs::write(&path, bytes).unwrap();
            let vocabulary = Vocabulary::load(folder.path()).map_err(|e| e.to_string())?;
            let encoded = vocabulary.encode(POEMS[0]);
            encoded.map(drop).map_err(|e| e.to_string())
        },
    );
    is_within_bounds();
}

/// Reads a source of poems.
fn read_corpus(path: &Path) -> Result<(), String> {
    let corpus = Corpus::read(path, Collections::Tang, &mut |_| {}).map_err(|e| e.to_string())?;
    Split::of(&corpus.poems).map(drop).map_err(|e| e.to_string())
}

#[test]
fn texts_of_poems() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poems.txt");
    let text = POEMS[..2].join("\n");
    attack(
        "poems.txt",
        1000,
        |mutator| mutator.text(text.as_bytes()),
        |bytes| {
            fs::write(&path, bytes).unwrap();
            read_corpus(&path)
        },
    );
    is_within_bounds();
}

#[test]
fn folders_of_corpora() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data");
    let folder = CorpusFolder::new(&path);
    let corpus = Corpus::from_texts(&POEMS.map(str::to_owned), &mut |_| {});
    folder.write(&corpus, &split()).unwrap();
    let names = ["SHA256SUMS", "train.txt", "val.txt", "tang.txt"];
    let good = names.map(|name| fs::read(path.join(name)).unwrap());
    attack(
        "SHA256SUMS, train.txt, val.txt, tang.txt",
        700,
        |mutator| {
            let which = mutator.below(names.len());
            // A line more or less changes nothing that is asked of the checksums.
            (which, mutator.text(&good[which]))
        },
        |(which, bytes)| {
            let damaged = path.join(names[*which]);
            fs::write(&damaged, bytes).unwrap();
            let read = folder.open().and_then(|_| folder.poems());
            fs::write(damaged, &good[*which]).unwrap();
            read.map(drop).map_err(|e| e.to_string())
        },
    );
    is_within_bounds();
}

fn poem_file() -> Vec<u8> {
    let entries: Vec<String> = POEMS
        .iter()
        .map(|poem| {
            let (first, second) = poem.split_once('。').unwrap();
            format!(
                "{{\"title\": \"t\", \"id\": 7, \"paragraphs\": [\"{first}。\", \"{second}\"]}}"
            )
        })
        .collect();
    format!("[{}]", entries.join(", ")).into_bytes()
}

#[test]
fn files_of_poems() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poet.tang.0.json");
    let good = poem_file();
    attack(
        "poet.tang.0.json",
        700,
        |mutator| mutator.text(&good),
        |bytes| {
            fs::write(&path, bytes).unwrap();
            read_corpus(folder.path())
        },
    );
    is_within_bounds();
}

/// An archive with one file, whose name, size and contents may differ from what they should be.
fn archive(mutator: &mut Mutator) -> Vec<u8> {
    let (mut json, kind) = (poem_file(), mutator.below(5));
    if kind == 0 {
        json = mutator.text(&json);
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(json.len() as u64);
    header.set_mode(0o644);
    let path = "package/dist/quantangshi/poet.tang.0.json";
    header.set_path(path).unwrap();
    if kind == 1 {
        let sizes = [0, 1, json.len() as u64 - 1, 1 << 20, 1 << 40, u64::MAX];
        header.set_size(sizes[mutator.below(sizes.len())]);
    }
    if kind == 2 {
        let place = mutator.below(512);
        header.as_mut_bytes()[place] ^= 1 << mutator.below(8);
    }
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, &json[..]).unwrap();
    let mut tar = builder.into_inner().unwrap();
    if kind == 3 {
        tar = mutator.bytes(&tar);
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&tar).unwrap();
    let gzip = gzip.finish().unwrap();
    if kind == 4 { mutator.bytes(&gzip) } else { gzip }
}

#[test]
fn archives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("package.tgz");
    attack("package.tgz", 800, archive, |bytes| {
        fs::write(&path, bytes).unwrap();
        read_corpus(&path)
    });
    is_within_bounds();
}
