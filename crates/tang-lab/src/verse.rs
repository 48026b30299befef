//! The share of poems that keep the rules, free and constrained, beside real poems.

mod poems;
mod repetition;
mod rows;

use std::{collections::HashSet, fmt};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use serde::Serialize;
use tang_corpus::Split;
use tang_engine::EngineError;
use tang_generate::{GenerationConfig, Rules, Search, Task};
use tang_prosody::{Form, Template, is_han};
use tang_tokenizer::{NEWLINE, TokenId};

use crate::{LabError, LabModel, page::table, subject::Machine};
use poems::{PoemSet, PoemWriter, Tasks, held_out, lines};
use rows::{Distinct, EvalRow};

/// Poems of a row between two reports.
const REPORT_EVERY: usize = 4 * 64;
/// Count of parts of the context with a loss each.
const PARTS: usize = 8;

/// The poems to write.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalOptions {
    /// Poems of each row.
    pub poems: usize,
    /// The forms to ask for.
    pub forms: Vec<Form>,
    /// Whether poems of any form are written, too.
    pub open: bool,
    /// The settings; poem `i` of each row, counted from 0, has the seed plus i.
    pub config: GenerationConfig,
    /// The search for poems of a fixed form; those of any form are samples.
    pub search: Search,
}

/// Rows of poems with their scores. It displays as Markdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Eval {
    model: String,
    machine: Machine,
    /// Poems that were asked for in each row.
    poems: usize,
    /// The seed of each row's first poem.
    seed: u64,
    /// The settings of the sampler.
    setting: String,
    /// The search for poems of a fixed form.
    search: String,
    /// The rows, those of one form together.
    rows: Vec<EvalRow>,
    /// The loss along the context; only where no form was asked for.
    position_loss: Option<PositionLoss>,
}

/// Reads the held-out poems of `split` and writes others of the same forms: free, by the rules, and
/// with given heads; then some of any form.
///
/// # Errors
///
/// [`LabError::Generate`] if a setting has an impossible value, [`LabError::Engine`] if the model's logits overflow.
/// A poem that cannot be written is counted in its row.
pub fn eval(lab: &LabModel, split: &Split, options: &EvalOptions) -> Result<Eval, LabError> {
    options.config.validate()?;
    let training_lines = split.train.iter().flat_map(|poem| lines(poem)).collect();
    let evaluation = Evaluation { lab, split, options, training_lines };
    let mut rows = Vec::new();
    for form in &options.forms {
        rows.extend(evaluation.form(*form)?);
    }
    let mut loss = None;
    if options.open {
        rows.extend(evaluation.open()?);
        lab.note("held-out poems, position by position");
        loss = Some(position_loss(lab, split.validation.iter().map(String::as_str))?);
    }
    Ok(Eval {
        model: lab.name.clone(),
        machine: Machine::this(),
        poems: options.poems,
        seed: options.config.seed,
        setting: setting(&options.config),
        search: options.search.to_string(),
        rows,
        position_loss: loss,
    })
}

struct Evaluation<'a> {
    lab: &'a LabModel,
    split: &'a Split,
    options: &'a EvalOptions,
    training_lines: HashSet<&'a str>,
}

impl Evaluation<'_> {
    /// The rows of one form.
    fn form(&self, form: Form) -> Result<Vec<EvalRow>, LabError> {
        let (lab, options) = (self.lab, self.options);
        let mut group = vec![self.held_out(Some(form))?];
        let regulated = Rules::regulated();
        let no_repeat = Rules { no_repeat: true, ..regulated };
        let template = Template::free(form.into());
        for (name, rules) in [
            ("form only", Rules::default()),
            ("regulated", regulated),
            ("regulated, no repeat", no_repeat),
        ] {
            let task = Task::verse(&template, &rules, &lab.vocabulary);
            let set = match task.and_then(|task| task.fit(lab.context())) {
                Ok(task) => {
                    let title = format!("{form}, {name}");
                    self.write(&title, &Tasks::Same(task), &options.config, options.search)?
                }
                Err(error) => PoemSet::refused(error, options.poems)?,
            };
            group.push((self.row(Some(form), name, &set, None), set));
        }

        let name = "regulated acrostic";
        let (poems, seed) = (options.poems, options.config.seed);
        let heads = random_heads(&self.split.train, form.lines(), poems, seed);
        let task = |number: usize| {
            let template = Template::acrostic(&heads[number], form.into(), 0)?;
            Task::verse(&template, &regulated, &lab.vocabulary)?.fit(lab.context())
        };
        let (title, tasks) = (format!("{form}, {name}"), Tasks::Each(&task));
        let set = self.write(&title, &tasks, &options.config, options.search)?;
        group.push((self.row(Some(form), name, &set, Some(&heads)), set));
        Ok(with_distinct(group))
    }

    /// The rows of any form.
    fn open(&self) -> Result<Vec<EvalRow>, LabError> {
        let own = &self.options.config;
        let plain = |temperature| GenerationConfig {
            temperature,
            top_k: 0,
            top_p: 1.0,
            repetition_penalty: 1.0,
            ..own.clone()
        };
        let mut group = vec![self.held_out(None)?];
        for config in [plain(1.0), plain(0.7), own.clone()] {
            let name = format!("open, {}", setting(&config));
            let set = self.write(&name, &Tasks::Same(Task::open()), &config, Search::Sample)?;
            group.push((self.row(None, &name, &set, None), set));
        }
        Ok(with_distinct(group))
    }

    fn held_out(&self, form: Option<Form>) -> Result<(EvalRow, PoemSet), LabError> {
        let name = match form {
            Some(form) => format!("{form}, held-out"),
            None => "held-out poems".to_owned(),
        };
        self.lab.note(name);
        let poems = self.split.validation.iter().map(String::as_str);
        let of_form = |poem: &&str| form.is_none() || Form::of(poem) == form;
        let set = held_out(self.lab, poems.filter(of_form))?;
        Ok((self.row(form, "held-out", &set, None), set))
    }

    fn row(
        &self,
        form: Option<Form>,
        name: &str,
        set: &PoemSet,
        heads: Option<&[String]>,
    ) -> EvalRow {
        EvalRow::of(form, name, set, heads, &self.training_lines)
    }

    fn write(
        &self,
        name: &str,
        tasks: &Tasks,
        config: &GenerationConfig,
        search: Search,
    ) -> Result<PoemSet, LabError> {
        let (lab, poems) = (self.lab, self.options.poems);
        let writer = PoemWriter { lab, config, search, poems };
        writer.write(tasks, &mut |done| {
            if done.is_multiple_of(REPORT_EVERY) {
                lab.note(format_args!("{name}: {done} of {poems} poems"));
            }
        })
    }
}

/// The rows of one form, whose variety is compared over the same number of characters.
fn with_distinct(group: Vec<(EvalRow, PoemSet)>) -> Vec<EvalRow> {
    let characters = |set: &PoemSet| -> usize {
        set.texts().flat_map(lines).map(|line| line.chars().count()).sum()
    };
    let lengths = group.iter().map(|(_, set)| characters(set));
    let shortest = lengths.filter(|length| *length > 0).min();
    let rows = group.into_iter().map(|(mut row, set)| {
        let shortest = shortest.filter(|_| row.poems > 0);
        row.distinct = shortest.map(|shortest| Distinct::of(set.texts(), shortest));
        row
    });
    rows.collect()
}

/// The settings that differ from plain sampling (temperature 1, all characters).
fn setting(config: &GenerationConfig) -> String {
    let mut text = format!("temperature {}", config.temperature);
    if config.top_k > 0 {
        text += &format!(", top-k {}", config.top_k);
    }
    if config.top_p < 1.0 {
        text += &format!(", top-p {}", config.top_p);
    }
    if config.repetition_penalty > 1.0 {
        text += &format!(", repetition penalty {}", config.repetition_penalty);
    }
    text
}

/// `number` strings of `length` characters, each a run of consecutive Han characters of a random
/// poem, from a random place on and across its marks: as various as the verse is, and as likely to
/// be hard. The same seed gives the same strings.
///
/// # Panics
///
/// If a poem has fewer characters, or there is no poem.
fn random_heads(poems: &[String], length: usize, number: usize, seed: u64) -> Vec<String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut heads = || -> String {
        let poem = &poems[rng.random_range(0..poems.len())];
        let characters: Vec<char> = poem.chars().filter(|c| is_han(*c)).collect();
        let start = rng.random_range(0..=characters.len() - length);
        characters[start..][..length].iter().collect()
    };
    (0..number).map(|_| heads()).collect()
}

/// Mean loss by position, over held-out poems that are read one after the other without a break
/// until the context is full. Positions that a model has not been trained on stand out.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct PositionLoss {
    /// Contexts that were read.
    rows: usize,
    /// One entry per part of the context.
    parts: Vec<PartLoss>,
}

/// The loss of the characters after some positions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct PartLoss {
    /// The first position, counted from 1.
    first: usize,
    last: usize,
    nats_per_char: f64,
}

impl fmt::Display for PositionLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.parts.iter();
        let rows =
            rows.map(|part| format!("{}-{} | {:.2}", part.first, part.last, part.nats_per_char));
        f.write_str(&table("positions | nats per character", rows))
    }
}

/// Reads `poems` in whole contexts; the rest at the end is not read.
fn position_loss<'a>(
    lab: &LabModel,
    poems: impl IntoIterator<Item = &'a str>,
) -> Result<PositionLoss, EngineError> {
    let context = lab.context();
    let mut sums = vec![0.0; context];
    let mut rows = 0;
    let mut text: Vec<TokenId> = vec![NEWLINE];
    // A poem with a character that the model does not know is left out.
    for tokens in poems.into_iter().flat_map(|poem| lab.vocabulary.encode(poem)) {
        text.extend(tokens);
        text.push(NEWLINE);
        while text.len() > context {
            let logits = lab.position_logits(&text[..context])?;
            for (position, sum) in sums.iter_mut().enumerate() {
                *sum -= logits.log_prob(position, text[position + 1]);
            }
            rows += 1;
            // A context begins where a poem does.
            let begin = text[context..].iter().position(|token| *token == NEWLINE);
            text.drain(..begin.map_or(text.len() - 1, |after| context + after));
        }
    }
    let parts = (0..PARTS).map(|part| [part, part + 1].map(|end| end * context / PARTS));
    let parts = parts.filter(|[from, to]| from < to && rows > 0);
    let loss = |[from, to]: [usize; 2]| PartLoss {
        first: from + 1,
        last: to,
        nats_per_char: sums[from..to].iter().sum::<f64>() / ((to - from) * rows) as f64,
    };
    Ok(PositionLoss { rows, parts: parts.map(loss).collect() })
}

#[cfg(test)]
mod tests;
