//! Tasks and settings of the generations that are compared, and of the samples on the page.

use tang_engine::Decoder;
use tang_generate::{GenerateError, GenerationConfig, Generator, Sequence, Task};
use tang_prosody::{Form, Layout, LineLength};

use crate::{LabError, LabModel};

const PREFIXES: [&str; 10] = [
    "春风",
    "床前明月光，",
    "大漠孤烟直",
    "白日依山尽，黄河入海",
    "山",
    "国破山河在，城春草木深。",
    "月落乌啼霜满天，江",
    "秋风",
    "万里",
    "一片孤城万仞山，羌笛",
];
const HEADS: [&str; 6] = ["春眠不觉", "一路平安", "山", "日月", "春夏秋冬", "天下"];
/// Least count of positions for a prompt and some lines.
const LEAST_CONTEXT: usize = 32;

/// One generation that is run twice.
pub(crate) struct TestCase {
    /// Its name in messages.
    pub name: String,
    pub task: Task,
    pub config: GenerationConfig,
}

impl TestCase {
    /// A new generator of this case.
    pub fn generator<'a>(
        &self,
        decoder: &'a mut dyn Decoder,
    ) -> Result<Generator<'a>, GenerateError> {
        Generator::new(decoder, self.task.clone(), &self.config)
    }

    pub fn sequence(&self) -> Result<Sequence, GenerateError> {
        Sequence::new(self.task.clone(), &self.config)
    }

    /// The error for a text of another length.
    pub fn other_length(&self, tokens: usize, wanted: usize) -> LabError {
        LabError::Count(format!(
            "{}: {tokens} new tokens where there should be {wanted}",
            self.name
        ))
    }
}

/// The model's own distribution at this temperature, cut by top-k (0 is off) and top-p (1 is off).
pub(crate) fn sampler(temperature: f32, top_k: usize, top_p: f32) -> GenerationConfig {
    let repetition_penalty = 1.0;
    GenerationConfig { temperature, top_k, top_p, repetition_penalty, ..Default::default() }
}

/// The settings with another seed.
pub(crate) fn seeded(config: &GenerationConfig, seed: u64) -> GenerationConfig {
    let mut config = config.clone();
    config.seed = seed;
    config
}

/// A poem of free length that does not end before `max_new_tokens`.
pub(crate) fn endless(max_new_tokens: usize) -> GenerationConfig {
    GenerationConfig { max_new_tokens, stop_at_end: false, ..GenerationConfig::default() }
}

/// An acrostic of these heads.
pub(crate) fn acrostic(
    lab: &LabModel,
    heads: &str,
    length: LineLength,
) -> Result<Task, GenerateError> {
    let layout = Layout::new(heads.chars().count(), length);
    Task::acrostic(heads, layout, &lab.vocabulary)?.fit(lab.context())
}

/// Settings that use each part of the pipeline, with their names.
fn samplers() -> [(&'static str, GenerationConfig); 9] {
    let default = GenerationConfig::default();
    let penalty = GenerationConfig { repetition_penalty: 1.3, ..sampler(1.0, 50, 1.0) };
    [
        ("default", default),
        ("greedy", sampler(0.0, 0, 1.0)),
        ("temperature 0.3", sampler(0.3, 0, 1.0)),
        ("temperature 1.0", sampler(1.0, 0, 1.0)),
        ("temperature 1.5", sampler(1.5, 0, 1.0)),
        ("temperature 1.5, top-k 20", sampler(1.5, 20, 1.0)),
        ("top-p 0.85", sampler(1.0, 0, 0.85)),
        ("top-p 0.9", sampler(1.0, 0, 0.9)),
        ("repetition penalty 1.3, top-k 50", penalty),
    ]
}

/// Free continuations, every form, and acrostics, as far as the vocabulary and the context allow.
fn tasks(lab: &LabModel) -> Vec<(String, Task)> {
    let vocabulary = &lab.vocabulary;
    let continued = PREFIXES.map(|text| (text.to_owned(), Task::continuation(text, vocabulary)));
    let forms = Form::ALL.map(|form| {
        (
            form.to_string(),
            Task::form(form.into(), vocabulary).and_then(|task| task.fit(lab.context())),
        )
    });
    let lengths = [LineLength::Five, LineLength::Seven].into_iter().cycle();
    let acrostics = HEADS.into_iter().zip(lengths);
    let acrostics = acrostics
        .map(|(heads, length)| (format!("acrostic {heads}"), acrostic(lab, heads, length)));
    let all = continued.into_iter().chain(forms).chain(acrostics);
    all.filter_map(|(name, task)| Some((name, task.ok()?))).collect()
}

/// `count` cases, all tasks and settings in turn, each with its own seed.
pub(crate) fn test_cases(lab: &LabModel, count: usize) -> Result<Vec<TestCase>, LabError> {
    let tasks = tasks(lab);
    if tasks.is_empty() || lab.context() < LEAST_CONTEXT {
        return Err(LabError::Input(format!(
            "a model with {} characters and {} positions can write none of the test poems: train it on a larger \
            corpus, with 32 positions or more",
            lab.vocabulary.len(),
            lab.context()
        )));
    }
    let samplers = samplers();
    let case = |i: usize| {
        // Task and setting advance together, and the setting by one more after each round of tasks.
        let (task_name, task) = &tasks[i % tasks.len()];
        let (sampler_name, config) = &samplers[(i + i / tasks.len()) % samplers.len()];
        TestCase {
            name: format!("{task_name}, {sampler_name}, seed {i}"),
            task: task.clone(),
            config: seeded(config, i as u64),
        }
    };
    Ok((0..count).map(case).collect())
}

/// Samples as Markdown. Tasks that the vocabulary does not allow are left out.
pub(crate) fn samples(lab: &LabModel) -> Result<String, LabError> {
    let form = || Task::form(Form::QiJue.into(), &lab.vocabulary)?.fit(lab.context());
    let quatrains = || vec![form(), form()];
    let continued = ["春风", "床前明月光", "大漠孤烟直", "白日依山尽，黄河入海"];
    let continued = continued.map(|prefix| Task::continuation(prefix, &lab.vocabulary));
    let acrostics = [
        ("春眠不觉", LineLength::Seven),
        ("一路平安", LineLength::Five),
        ("春夏秋冬", LineLength::Seven),
        ("山高水长", LineLength::Five),
    ];
    let acrostics = acrostics.map(|(heads, length)| acrostic(lab, heads, length));
    let default = GenerationConfig::default;
    let mut text = String::new();
    for (title, tasks, config) in [
        ("七绝, temperature 0.3", quatrains(), sampler(0.3, 0, 1.0)),
        ("七绝, temperature 1.0", quatrains(), sampler(1.0, 0, 1.0)),
        ("七绝, temperature 1.5", quatrains(), sampler(1.5, 0, 1.0)),
        ("七绝, temperature 1.5, top-k 20", quatrains(), sampler(1.5, 20, 1.0)),
        ("Continuations", continued.into(), default()),
        ("Acrostics", acrostics.into(), default()),
    ] {
        text += &format!("\n### {title}\n\n");
        for sequence in lab.batch(tasks.into_iter().flatten(), &config)? {
            let (poem, nats) = (lab.text(sequence.tokens())?, -sequence.mean_log_prob());
            text += &format!("- {poem} ({nats:.2} nats per character)\n");
        }
    }
    Ok(text)
}
