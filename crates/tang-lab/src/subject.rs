//! The subject of a measurement: the model, the machine and the program.

use std::{env, fmt, fs, iter, sync::Arc, thread};

use serde::Serialize;
use tang_checkpoint::{ModelConfig, ParameterSpec, Weights, parameters};
use tang_engine::{Decoder, EngineError, Logits, Model, Threads};
use tang_generate::{GenerateError, GenerationConfig, Sequence, Task, generate_batch};
use tang_tokenizer::{TokenId, Vocabulary};

use crate::{Bytes, LabError, cache::cases::seeded, page::count};

/// A trained model with the characters it knows.
pub struct LabModel {
    /// The model.
    pub model: Box<dyn Model>,
    /// Its characters.
    pub vocabulary: Vocabulary,
    /// Its name in reports, for instance its folder.
    pub name: String,
    /// Threads that it may use.
    pub threads: Threads,
    /// Whether the same tokens give the same bits on every path, as an engine does on the CPU. On a GPU, the
    /// last digits may differ.
    pub is_exact: bool,
    /// Receives the progress of a measurement.
    pub on_progress: Arc<dyn Fn(&str) + Send + Sync>,
}

impl LabModel {
    /// Reports progress, with the name of the model.
    pub(crate) fn note(&self, progress: impl fmt::Display) {
        (self.on_progress)(&format!("{}: {progress}", self.name));
    }

    pub(crate) fn context(&self) -> usize {
        self.model.config().context
    }

    pub(crate) fn cached(&self) -> Box<dyn Decoder> {
        self.model.cached(self.threads)
    }

    pub(crate) fn uncached(&self) -> Box<dyn Decoder> {
        self.model.uncached(self.threads)
    }

    /// The logits after every token of a text, in one pass.
    pub(crate) fn position_logits(&self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let mut decoder = self.uncached();
        decoder.start(1);
        decoder.position_logits(tokens)
    }

    /// The text of a poem, without the newlines that begin and end it.
    pub(crate) fn text(&self, tokens: &[TokenId]) -> Result<String, GenerateError> {
        let text = self.vocabulary.decode(tokens)?;
        Ok(text.trim_matches('\n').to_owned())
    }

    /// One text per task in one batch, with seeds counted from 0.
    pub(crate) fn batch(
        &self,
        tasks: impl IntoIterator<Item = Task>,
        config: &GenerationConfig,
    ) -> Result<Vec<Sequence>, LabError> {
        let sequence = |(task, seed)| Sequence::new(task, &seeded(config, seed));
        let sequences = tasks.into_iter().zip(0..).map(sequence).collect::<Result<_, _>>()?;
        Ok(generate_batch(&mut *self.cached(), sequences)?)
    }

    /// `count` texts without any rule, in one batch.
    pub(crate) fn free_texts(
        &self,
        config: &GenerationConfig,
        count: usize,
    ) -> Result<Vec<Sequence>, LabError> {
        self.batch(iter::repeat_n(Task::open(), count), config)
    }

    /// A model of the same geometry and vocabulary with `context` positions and random weights,
    /// for texts longer than the trained one has positions for.
    pub(crate) fn with_random_weights(
        &self,
        context: usize,
    ) -> Result<(Self, Subject), EngineError> {
        let config = ModelConfig { context, ..*self.model.config() };
        let weights = Weights::random(&config, 0);
        let lab = Self {
            model: self.model.of_weights(&config, &weights)?,
            vocabulary: self.vocabulary.clone(),
            name: self.name.clone(),
            on_progress: Arc::clone(&self.on_progress),
            ..*self
        };
        let mut subject = lab.subject();
        subject.random_weights = true;
        Ok((lab, subject))
    }

    /// The description of figures that are measured on this model.
    pub(crate) fn subject(&self) -> Subject {
        Subject { random_weights: false, context: self.context() }
    }

    /// A task whose prompt has `tokens` tokens: the newline, then characters of the vocabulary in
    /// its own order, which makes no verse but as much work.
    pub(crate) fn prompt(&self, tokens: usize) -> Result<Task, GenerateError> {
        let characters: Vec<char> = self.vocabulary.iter().skip(1).map(|(_, c)| c).collect();
        let text: String = characters.into_iter().cycle().take(tokens - 1).collect();
        if text.is_empty() { Ok(Task::open()) } else { Task::continuation(&text, &self.vocabulary) }
    }
}

/// The network that a figure was measured on: the trained one, or one of the same geometry with random
/// weights and another context. Time and memory do not depend on the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Subject {
    random_weights: bool,
    context: usize,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = if self.random_weights { "random weights" } else { "trained" };
        write!(f, "{weights}, context {}", self.context)
    }
}

/// The geometry of a model, which decides how much work and memory it takes, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelSummary {
    family: &'static str,
    parameters: usize,
    layers: usize,
    width: usize,
    pub(crate) heads: usize,
    kv_heads: usize,
    head_dim: usize,
    context: usize,
    vocab_size: usize,
}

impl ModelSummary {
    /// The summary of a network of this geometry.
    pub fn of(config: &ModelConfig) -> Self {
        Self {
            family: config.family.name(),
            parameters: parameters(config).iter().map(ParameterSpec::numel).sum(),
            layers: config.layers,
            width: config.width,
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim(),
            context: config.context,
            vocab_size: config.vocab_size,
        }
    }
}

impl fmt::Display for ModelSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} parameters, {} layers, {} wide, {} query heads and {} key/value heads of {}, context {}, \
            vocabulary {}",
            self.family,
            count(self.parameters),
            self.layers,
            self.width,
            self.heads,
            self.kv_heads,
            self.head_dim,
            self.context,
            self.vocab_size
        )
    }
}

/// The machine that a measurement ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Machine {
    /// Model name of the processor, or its architecture where the system does not say.
    processor: String,
    /// Count of cores that this process may use.
    cores: usize,
    /// Count of threads that compute: one per core, or the value of RAYON_NUM_THREADS.
    threads: usize,
    /// Operating system and architecture.
    system: String,
}

impl Machine {
    /// The machine that this process runs on.
    pub fn this() -> Self {
        let arch = env::consts::ARCH;
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Self {
            processor: name.map_or(arch, |(_, name)| name.trim()).to_owned(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            threads: rayon::current_num_threads(),
            system: format!("{} {arch}", env::consts::OS),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cores, threads) = (self.cores, self.threads);
        let (processor, system) = (&self.processor, &self.system);
        write!(f, "{processor}, {cores} cores, {threads} threads, {system}")
    }
}

/// A state of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// Its name in git.
    pub id: String,
    /// Whether files differed from it.
    pub modified: bool,
}

/// The machine, program and commit, with which a reader can repeat the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provenance {
    machine: Machine,
    device: String,
    /// The version of Burn, where the program has it.
    burn: Option<&'static str>,
    /// The commit of the source tree at the time of the run, where it is known.
    commit: Option<Commit>,
}

#[cfg(feature = "train")]
const BURN: Option<&str> = Some(tang_model::device::BURN_VERSION);
#[cfg(not(feature = "train"))]
const BURN: Option<&str> = None;

impl Provenance {
    /// This program on this machine, and the name of the device that computes.
    pub fn this(device: String, commit: Option<Commit>) -> Self {
        Self { machine: Machine::this(), device, burn: BURN, commit }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "- machine: {}\n- device: {}", self.machine, self.device)?;
        if let Some(burn) = self.burn {
            write!(f, "; Burn {burn}")?;
        }
        let (id, note) = match &self.commit {
            None => ("unknown", ""),
            Some(Commit { id, modified: true }) => (id.as_str(), " with uncommitted changes"),
            Some(Commit { id, modified: false }) => (id.as_str(), ""),
        };
        write!(f, "\n- commit: {id}{note}")
    }
}

/// The peak resident memory of a running process; `None` where the system has no `/proc` to read it
/// from.
pub fn peak_memory(process: u32) -> Option<Bytes> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kibibytes * 1024))
}

#[cfg(test)]
mod tests {
    use crate::cache::tests::small;

    use super::*;

    #[test]
    fn prompts_have_the_length_asked_for() {
        let lab = small(ModelConfig::tang_4l);
        for tokens in [1, 2, 40] {
            assert_eq!(lab.prompt(tokens).unwrap().prompt().len(), tokens);
        }
    }

    #[test]
    fn random_weights_keep_all_but_the_context() {
        let lab = small(ModelConfig::minimind_4l);
        let (random, subject) = lab.with_random_weights(256).unwrap();
        let wanted = ModelConfig { context: 256, ..*lab.model.config() };
        assert_eq!(*random.model.config(), wanted);
        assert_eq!(subject.to_string(), "random weights, context 256");
        assert_eq!(lab.subject().to_string(), "trained, context 48");
    }

    #[test]
    fn names_what_decides_work_and_memory() {
        let text = ModelSummary::of(small(ModelConfig::minimind_4l).model.config()).to_string();
        let wanted = "2 layers, 16 wide, 4 query heads and 2 key/value heads of 4, context 48";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn names_this_machine() {
        let machine = Machine::this();
        assert!(machine.cores > 0 && machine.threads > 0);
        assert!(machine.to_string().contains(std::env::consts::ARCH));
    }

    #[test]
    fn uncommitted_changes_are_marked() {
        let shown = |commit| Provenance::this("CPU".to_owned(), commit).to_string();
        let commit = |modified| Some(Commit { id: "0123abcd".to_owned(), modified });
        assert!(shown(commit(true)).ends_with("0123abcd with uncommitted changes"));
        assert!(shown(commit(false)).ends_with("commit: 0123abcd"));
        assert!(shown(None).ends_with("commit: unknown"));
        assert!(shown(None).contains(BURN.unwrap_or("device: CPU\n")));
    }

    #[test]
    fn memory_that_was_used_counts_when_it_is_given_back() {
        let large = 64 << 20;
        drop(std::hint::black_box(vec![1_u8; large]));
        let own = peak_memory(std::process::id());
        assert_eq!(own.is_some(), cfg!(target_os = "linux"));
        assert!(own.is_none_or(|own| own >= Bytes(large as u64)));
        assert_eq!(peak_memory(0), None, "no process has the number 0");
    }
}
