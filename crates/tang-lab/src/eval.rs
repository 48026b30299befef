//! How well poems keep the rules, free and constrained, beside real poems.

use std::collections::HashSet;

use serde::Serialize;
use tang_corpus::Split;
use tang_generate::{GenerationConfig, Rules, Search, Task};
use tang_prosody::{Form, Template};

use crate::{
    Distinct, EvalRow, LabError, LabModel, Machine, PositionLoss,
    held_out::held_out,
    poem_set::{PoemSet, lines},
    poem_writer::{PoemWriter, Tasks},
    position_loss::position_loss,
    random_heads::random_heads,
};

/// Poems of a row between two reports.
const REPORT_EVERY: usize = 4 * 64;

/// What to write and how.
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
    /// How poems of a fixed form are found; those of any form are samples.
    pub search: Search,
}

/// Rows of poems, and what is known of each. It prints as Markdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Eval {
    /// The model.
    pub model: String,
    /// Where.
    pub machine: Machine,
    /// Poems that were asked for in each row.
    pub poems: usize,
    /// The seed of each row's first poem.
    pub seed: u64,
    /// The settings of the sampler.
    pub setting: String,
    /// How poems of a fixed form were found.
    pub search: String,
    /// The rows, those of one form together.
    pub rows: Vec<EvalRow>,
    /// The loss along the context; only where no form was asked for.
    pub position_loss: Option<PositionLoss>,
}

/// Reads the held-out poems of `split` and writes others of the same forms: free, by the rules, and
/// with given heads; then some of any form.
///
/// # Errors
///
/// If a setting has an impossible value or the model's logits overflow. A poem that cannot be
/// written is counted in its row.
pub fn eval(
    lab: &LabModel,
    split: &Split,
    options: &EvalOptions,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Eval, LabError> {
    options.config.validate()?;
    let mut evaluation = Evaluation {
        lab,
        split,
        options,
        training_lines: split.train.iter().flat_map(|poem| lines(poem)).collect(),
        on_progress,
    };
    let mut rows = Vec::new();
    for form in &options.forms {
        rows.extend(evaluation.form(*form)?);
    }
    let mut position_loss = None;
    if options.open {
        rows.extend(evaluation.open()?);
        position_loss = Some(evaluation.position_loss()?);
    }
    Ok(Eval {
        model: lab.name.clone(),
        machine: Machine::this(),
        poems: options.poems,
        seed: options.config.seed,
        setting: setting(&options.config),
        search: options.search.to_string(),
        rows,
        position_loss,
    })
}

struct Evaluation<'a> {
    lab: &'a LabModel,
    split: &'a Split,
    options: &'a EvalOptions,
    training_lines: HashSet<&'a str>,
    on_progress: &'a mut dyn FnMut(&str),
}

impl Evaluation<'_> {
    /// The rows of one form.
    fn form(&mut self, form: Form) -> Result<Vec<EvalRow>, LabError> {
        let (lab, options) = (self.lab, self.options);
        let mut group = Group::new(Some(form));
        let real = self.held_out(Some(form))?;
        group.add(self, "held-out", real, None);
        let regulated = Rules::regulated();
        let no_repeat = Rules {
            no_repeat: true,
            ..regulated
        };
        let template = Template::free(form.into());
        for (name, rules) in [
            ("form only", Rules::default()),
            ("regulated", regulated),
            ("regulated, no repeat", no_repeat),
        ] {
            let task = Task::verse(&template, &rules, &lab.vocabulary)
                .and_then(|task| task.fit(lab.context()));
            let set = match task {
                Ok(task) => self.write(
                    &format!("{form}, {name}"),
                    &Tasks::Same(task),
                    &options.config,
                    options.search,
                )?,
                Err(error) => {
                    let mut set = PoemSet::default();
                    set.refuse(error, options.poems)?;
                    set
                }
            };
            group.add(self, name, set, None);
        }

        let name = "regulated acrostic";
        let heads = random_heads(
            &self.split.train,
            form.lines(),
            options.poems,
            options.config.seed,
        );
        let task = |number: usize| {
            let template = Template::acrostic(&heads[number], form.into(), 0)?;
            Task::verse(&template, &regulated, &lab.vocabulary)?.fit(lab.context())
        };
        let set = self.write(
            &format!("{form}, {name}"),
            &Tasks::Each(&task),
            &options.config,
            options.search,
        )?;
        group.add(self, name, set, Some(&heads));
        Ok(group.finish())
    }

    /// The rows of any form.
    fn open(&mut self) -> Result<Vec<EvalRow>, LabError> {
        let mut group = Group::new(None);
        let real = self.held_out(None)?;
        group.add(self, "held-out", real, None);
        let plain = |temperature| GenerationConfig {
            temperature,
            top_k: 0,
            top_p: 1.0,
            repetition_penalty: 1.0,
            ..self.options.config.clone()
        };
        for config in [plain(1.0), plain(0.7), self.options.config.clone()] {
            let name = format!("open, {}", setting(&config));
            let tasks = Tasks::Same(Task::open());
            let set = self.write(&name, &tasks, &config, Search::Sample)?;
            group.add(self, &name, set, None);
        }
        Ok(group.finish())
    }

    fn held_out(&mut self, form: Option<Form>) -> Result<PoemSet, LabError> {
        let name = form.map_or("held-out poems".to_owned(), |form| {
            format!("{form}, held-out")
        });
        (self.on_progress)(&name);
        let poems = self.split.validation.iter().map(String::as_str);
        let of_form = |poem: &&str| form.is_none() || Form::of(poem) == form;
        held_out(self.lab, poems.filter(of_form))
    }

    fn position_loss(&mut self) -> Result<PositionLoss, LabError> {
        (self.on_progress)("held-out poems, position by position");
        position_loss(self.lab, self.split.validation.iter().map(String::as_str))
    }

    fn write(
        &mut self,
        name: &str,
        tasks: &Tasks,
        config: &GenerationConfig,
        search: Search,
    ) -> Result<PoemSet, LabError> {
        let poems = self.options.poems;
        let writer = PoemWriter {
            lab: self.lab,
            config,
            search,
            poems,
        };
        writer.write(tasks, &mut |done| {
            if done.is_multiple_of(REPORT_EVERY) {
                (self.on_progress)(&format!("{name}: {done} of {poems} poems"));
            }
        })
    }
}

/// The rows of one form, whose texts are compared over the same number of characters.
struct Group {
    form: Option<Form>,
    rows: Vec<(EvalRow, PoemSet)>,
}

impl Group {
    fn new(form: Option<Form>) -> Self {
        let rows = Vec::new();
        Self { form, rows }
    }

    fn add(&mut self, evaluation: &Evaluation, name: &str, set: PoemSet, heads: Option<&[String]>) {
        let row = EvalRow::of(self.form, name, &set, heads, &evaluation.training_lines);
        self.rows.push((row, set));
    }

    fn finish(self) -> Vec<EvalRow> {
        let characters = |set: &PoemSet| -> usize {
            set.texts()
                .flat_map(lines)
                .map(|line| line.chars().count())
                .sum()
        };
        let lengths = self.rows.iter().map(|(_, set)| characters(set));
        let Some(shortest) = lengths.filter(|length| *length > 0).min() else {
            return self.rows.into_iter().map(|(row, _)| row).collect();
        };
        let finished = self.rows.into_iter().map(|(mut row, set)| {
            row.distinct = (row.poems > 0).then(|| Distinct::of(set.texts(), shortest));
            row
        });
        finished.collect()
    }
}

/// The settings that differ from choosing among all characters by their probabilities.
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
