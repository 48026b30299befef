//! Poems to read: what temperature does, continuations, acrostics.

use std::fmt::Write;

use tang_generate::{GenerationConfig, Sequence, Task, generate_batch};
use tang_prosody::{Form, Layout, LineLength};

use crate::{LabError, LabModel};

/// Samples as Markdown. Tasks that the vocabulary does not allow are left out.
pub(crate) fn samples(lab: &LabModel) -> Result<String, LabError> {
    let plain = |temperature, top_k| GenerationConfig {
        temperature,
        top_k,
        top_p: 1.0,
        ..GenerationConfig::default()
    };
    let mut text = String::new();
    let quatrain = || {
        Task::form(Form::QiJue.into(), &lab.vocabulary)
            .and_then(|task| task.fit(lab.context()))
            .ok()
    };
    for (title, config) in [
        ("七绝, temperature 0.3", plain(0.3, 0)),
        ("七绝, temperature 1.0", plain(1.0, 0)),
        ("七绝, temperature 1.5", plain(1.5, 0)),
        ("七绝, temperature 1.5, top-k 20", plain(1.5, 20)),
    ] {
        section(&mut text, lab, title, [quatrain(), quatrain()], &config)?;
    }
    let default = GenerationConfig::default();
    let continued = ["春风", "床前明月光", "大漠孤烟直", "白日依山尽，黄河入海"]
        .map(|prefix| Task::continuation(prefix, &lab.vocabulary).ok());
    section(&mut text, lab, "Continuations", continued, &default)?;
    let acrostics = [
        ("春眠不觉", LineLength::Seven),
        ("一路平安", LineLength::Five),
        ("春夏秋冬", LineLength::Seven),
        ("山高水长", LineLength::Five),
    ]
    .map(|(heads, length)| {
        let layout = Layout::new(heads.chars().count(), length);
        Task::acrostic(heads, layout, &lab.vocabulary)
            .and_then(|task| task.fit(lab.context()))
            .ok()
    });
    section(&mut text, lab, "Acrostics", acrostics, &default)?;
    Ok(text)
}

/// One poem a task, seeds counted from 0, as a list.
fn section(
    text: &mut String,
    lab: &LabModel,
    title: &str,
    tasks: impl IntoIterator<Item = Option<Task>>,
    config: &GenerationConfig,
) -> Result<(), LabError> {
    let sequences = tasks
        .into_iter()
        .flatten()
        .zip(0..)
        .map(|(task, seed)| {
            let config = GenerationConfig {
                seed,
                ..config.clone()
            };
            Sequence::new(task, &config)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let sequences = generate_batch(&mut *lab.cached(), sequences)?;
    let written = |text: &mut String, line: &str| {
        writeln!(text, "{line}").expect("a String takes everything");
    };
    written(text, &format!("\n### {title}\n"));
    for sequence in &sequences {
        let poem = lab.text(sequence.tokens())?;
        written(
            text,
            &format!(
                "- {poem} ({:.2} nats a character)",
                -sequence.mean_log_prob()
            ),
        );
    }
    Ok(())
}
