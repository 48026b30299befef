//! What is generated to compare the decoders: prompts, forms and acrostics under many settings.

use tang_generate::{GenerateError, GenerationConfig, Task};
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
/// Room for a prompt and some lines.
const LEAST_CONTEXT: usize = 32;
const HEADS: [&str; 6] = ["春眠不觉", "一路平安", "山", "日月", "春夏秋冬", "天下"];

/// One generation to make with the cache and without.
pub(crate) struct TestCase {
    /// What it is, for messages.
    pub name: String,
    pub task: Task,
    pub config: GenerationConfig,
}

/// Settings that use each part of the pipeline, with their names.
fn samplers() -> Vec<(&'static str, GenerationConfig)> {
    let plain = |temperature| GenerationConfig {
        temperature,
        top_k: 0,
        top_p: 1.0,
        ..GenerationConfig::default()
    };
    vec![
        ("default", GenerationConfig::default()),
        ("greedy", plain(0.0)),
        ("temperature 0.3", plain(0.3)),
        ("temperature 1.0", plain(1.0)),
        ("temperature 1.5", plain(1.5)),
        (
            "temperature 1.5, top-k 20",
            GenerationConfig {
                top_k: 20,
                ..plain(1.5)
            },
        ),
        (
            "top-p 0.85",
            GenerationConfig {
                top_p: 0.85,
                ..plain(1.0)
            },
        ),
        (
            "top-p 0.9",
            GenerationConfig {
                top_p: 0.9,
                ..plain(1.0)
            },
        ),
        (
            "repetition penalty 1.3",
            GenerationConfig {
                repetition_penalty: 1.3,
                ..GenerationConfig::default()
            },
        ),
    ]
}

/// Free continuations, every form, and acrostics, as far as the vocabulary and the context allow.
fn tasks(lab: &LabModel) -> Vec<(String, Task)> {
    let vocabulary = &lab.vocabulary;
    let mut tasks: Vec<(String, Result<Task, GenerateError>)> = Vec::new();
    for text in PREFIXES {
        tasks.push((text.to_owned(), Task::continuation(text, vocabulary)));
    }
    for form in Form::ALL {
        let task = Task::form(form.into(), vocabulary);
        tasks.push((form.to_string(), task));
    }
    for (heads, length) in HEADS
        .into_iter()
        .zip([LineLength::Five, LineLength::Seven].into_iter().cycle())
    {
        let layout = Layout::new(heads.chars().count(), length);
        let task = Task::acrostic(heads, layout, vocabulary);
        tasks.push((format!("acrostic {heads}"), task));
    }
    tasks
        .into_iter()
        .filter_map(|(name, task)| Some((name, task.ok()?.fit(lab.context()).ok()?)))
        .collect()
}

/// `count` cases, all tasks and settings in turn, each with its own seed.
///
/// # Errors
///
/// [`LabError::NoCase`] if the vocabulary allows no task, or the context hardly any text.
pub(crate) fn test_cases(lab: &LabModel, count: usize) -> Result<Vec<TestCase>, LabError> {
    let tasks = tasks(lab);
    if tasks.is_empty() || lab.context() < LEAST_CONTEXT {
        return Err(LabError::NoCase {
            vocab_size: lab.vocabulary.len(),
            context: lab.context(),
        });
    }
    let samplers = samplers();
    Ok((0..count)
        .map(|i| {
            // Task and setting step together, and the setting once more after each round.
            let (task_name, task) = &tasks[i % tasks.len()];
            let (sampler_name, config) = &samplers[(i + i / tasks.len()) % samplers.len()];
            TestCase {
                name: format!("{task_name}, {sampler_name}, seed {i}"),
                task: task.clone(),
                config: GenerationConfig {
                    seed: i as u64,
                    ..config.clone()
                },
            }
        })
        .collect())
}
