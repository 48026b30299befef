//! What a poem starts from, and what it must keep.

use std::sync::Arc;

use tang_engine::EngineError;
use tang_prosody::{Form, Layout, Template};
use tang_tokenizer::{NEWLINE, TokenId, Vocabulary};

use crate::{
    DeadEnd, Exemption, GenerateError, Rules,
    constraint::{Constraint, Mask},
    form_constraint::FormConstraint,
    no_repeat_constraint::NoRepeatConstraint,
    rhyme_constraint::RhymeConstraint,
    template_constraint::TemplateConstraint,
    token_readings::TokenReadings,
    tone_constraint::ToneConstraint,
};

/// A prompt, which always begins with the newline that begins a poem, and the constraints on what
/// follows it.
#[derive(Clone)]
pub struct Task {
    prompt: Vec<TokenId>,
    /// Lines and marks of the whole poem, where they are laid down.
    layout: Option<Layout>,
    constraints: Vec<Arc<dyn Constraint>>,
    exemptions: Vec<Exemption>,
}

impl Task {
    /// Writes a poem of any kind from nothing, freely.
    pub fn open() -> Self {
        Self {
            prompt: vec![NEWLINE],
            layout: None,
            constraints: Vec::new(),
            exemptions: Vec::new(),
        }
    }

    /// Goes on from the beginning of a poem, freely.
    ///
    /// # Errors
    ///
    /// If the text is empty or has a character that the vocabulary lacks.
    pub fn continuation(text: &str, vocabulary: &Vocabulary) -> Result<Self, GenerateError> {
        if text.is_empty() {
            return Err(GenerateError::Empty);
        }
        let mut task = Self::open();
        task.prompt.extend(vocabulary.encode(text)?);
        Ok(task)
    }

    /// Writes the lines of a template, keeping its fixed characters and the rules.
    ///
    /// # Errors
    ///
    /// [`GenerateError::Tokenizer`] if a fixed character is unknown; [`GenerateError::Unkept`] if one cannot keep the rules and they are not relaxed;
    /// [`GenerateError::NoTones`] for another number of lines than 4 and 8;
    /// [`GenerateError::FewRhymes`].
    pub fn verse(
        template: &Template,
        rules: &Rules,
        vocabulary: &Vocabulary,
    ) -> Result<Self, GenerateError> {
        let layout = template.layout();
        let text: String = template
            .fixed()
            .map(|(_, _, character)| character)
            .collect();
        let mut fixed = vec![None; layout.char_count()];
        for ((line, column, _), token) in template.fixed().zip(vocabulary.encode(&text)?) {
            fixed[layout.position(line, column)] = Some(token);
        }
        let mut task = Self::open();
        task.layout = Some(layout);
        task.add(FormConstraint::new(layout, vocabulary));
        task.add_sounds(template, rules, vocabulary)?;
        if rules.no_repeat {
            let fixed = fixed.clone();
            task.add(NoRepeatConstraint { layout, fixed });
        }
        if !text.is_empty() {
            task.add(TemplateConstraint { fixed });
        }
        Ok(task)
    }

    /// Writes the lines of `layout` freely.
    ///
    /// # Errors
    ///
    /// Those of [`verse`](Self::verse).
    pub fn form(layout: Layout, vocabulary: &Vocabulary) -> Result<Self, GenerateError> {
        Self::verse(&Template::free(layout), &Rules::default(), vocabulary)
    }

    /// Writes the lines of `layout`, each beginning with its character of `heads`.
    ///
    /// # Errors
    ///
    /// Those of [`verse`](Self::verse), or if a head is no Han character.
    ///
    /// # Panics
    ///
    /// If there is not one head a line.
    pub fn acrostic(
        heads: &str,
        layout: Layout,
        vocabulary: &Vocabulary,
    ) -> Result<Self, GenerateError> {
        let template = Template::acrostic(heads, layout, 0)?;
        Self::verse(&template, &Rules::default(), vocabulary)
    }

    /// The rules of tones and rhyme, as far as they are wanted.
    fn add_sounds(
        &mut self,
        template: &Template,
        rules: &Rules,
        vocabulary: &Vocabulary,
    ) -> Result<(), GenerateError> {
        if rules.tones.is_none() && rules.rhyme.is_none() {
            return Ok(());
        }
        let readings = Arc::new(TokenReadings::new(vocabulary));
        if let Some(wanted) = rules.tones {
            let layout = template.layout();
            if !Form::ALL.iter().any(|form| Layout::from(*form) == layout) {
                return Err(GenerateError::NoTones {
                    lines: layout.lines(),
                });
            }
            let (tones, exemptions) = ToneConstraint::new(template, wanted, readings.clone());
            self.exemptions.extend(exemptions);
            self.add(tones);
        }
        if let Some(wanted) = rules.rhyme {
            let first_line = rules.tones.is_some();
            let (rhyme, exemptions) =
                RhymeConstraint::new(template, wanted, first_line, vocabulary, readings)?;
            self.exemptions.extend(exemptions);
            self.add(rhyme);
        }
        match self.exemptions.is_empty() || rules.relax {
            true => Ok(()),
            false => Err(GenerateError::Unkept {
                exemptions: self.exemptions.clone(),
            }),
        }
    }

    fn add(&mut self, constraint: impl Constraint + 'static) {
        self.constraints.push(Arc::new(constraint));
    }

    /// The task, if a model with `context` positions can write it.
    ///
    /// # Errors
    ///
    /// [`GenerateError::TooLong`] if the lines do not fit the context, [`EngineError::TextTooLong`] if the prompt does
    /// not.
    pub fn fit(self, context: usize) -> Result<Self, GenerateError> {
        self.check(context)?;
        Ok(self)
    }

    /// Checks that a model with `context` positions can write it: [`fit`](Self::fit).
    pub(crate) fn check(&self, context: usize) -> Result<(), GenerateError> {
        // The newline takes a position; the last character takes none, as nothing follows it.
        if let Some(layout) = self.layout
            && layout.char_count() > context
        {
            return Err(GenerateError::TooLong {
                lines: layout.lines(),
                characters: layout.char_count(),
                context,
            });
        }
        let length = self.prompt.len();
        if length > context {
            return Err(EngineError::TextTooLong { length, context }.into());
        }
        Ok(())
    }

    /// The tokens to start from.
    pub fn prompt(&self) -> &[TokenId] {
        &self.prompt
    }

    /// Tokens of a whole poem after the prompt, its last newline counted, where a form fixes them.
    pub(crate) fn new_tokens(&self) -> Option<usize> {
        Some(self.layout?.char_count() + 1)
    }

    /// The fixed characters that the rules were relaxed for.
    pub fn exemptions(&self) -> &[Exemption] {
        &self.exemptions
    }

    /// The tokens that may follow `history`, which begins with the prompt; `None` if all may.
    pub(crate) fn mask(&self, history: &[TokenId], vocab_size: usize) -> Option<Mask> {
        if self.constraints.is_empty() {
            return None;
        }
        let mut mask = Mask::all(vocab_size);
        for constraint in &self.constraints {
            constraint.restrict(poem(history), &mut mask);
        }
        Some(mask)
    }

    /// Whether `history`, which begins with the prompt, holds all lines of a poem whose lines are laid
    /// down, with or without the newline at its end.
    pub(crate) fn is_whole(&self, history: &[TokenId]) -> bool {
        let length = self.layout.map(|layout| layout.char_count());
        length.is_some_and(|length| poem(history).len() >= length)
    }

    /// What is in the way where [`mask`](Self::mask) is empty.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub(crate) fn dead_end(&self, history: &[TokenId], vocab_size: usize) -> DeadEnd {
        let poem = poem(history);
        let mut mask = Mask::all(vocab_size);
        let mut others = Vec::new();
        let mut left = vocab_size;
        for constraint in &self.constraints {
            constraint.restrict(poem, &mut mask);
            let rule = constraint.rule();
            match mask.count() {
                0 => {
                    let (line, column) = self.place(poem.len());
                    return DeadEnd {
                        line,
                        column,
                        rule,
                        left,
                        others,
                    };
                }
                count if count < left => {
                    left = count;
                    others.push(rule);
                }
                _ => {}
            }
        }
        panic!("{left} tokens are left");
    }

    /// The line of a place of the poem, and the place in it, counted from 0; a mark stands behind the
    /// characters of its line.
    fn place(&self, place: usize) -> (usize, usize) {
        let layout = self.layout.expect("rules come with lines");
        let stride = layout.line_length().chars() + 1;
        (place / stride, place % stride)
    }
}

/// The tokens after the newline that begins every prompt.
fn poem(history: &[TokenId]) -> &[TokenId] {
    let poem = history.strip_prefix(&[NEWLINE]);
    poem.expect("a prompt begins with the newline")
}

#[cfg(test)]
mod tests {
    use tang_prosody::LineLength;

    use super::*;
    use crate::{Rule, Wanted};

    #[test]
    fn refuses_what_cannot_be_written() {
        let vocabulary = Vocabulary::from_texts(["春眠不觉晓"]);
        let layout = |lines| Layout::new(lines, LineLength::Seven);
        let message = |task: Result<Task, GenerateError>| task.err().unwrap().to_string();
        assert!(message(Task::continuation("", &vocabulary)).contains("empty"));
        assert!(message(Task::continuation("春花", &vocabulary)).contains("`花`"));
        assert!(message(Task::acrostic("春，", layout(2), &vocabulary)).contains("`，`"));
        assert!(message(Task::acrostic("春花", layout(2), &vocabulary)).contains("`花`"));
        let form = |lines| Task::form(layout(lines), &vocabulary).unwrap().fit(128);
        let long = message(form(17));
        assert!(long.contains("136") && long.contains("128"), "{long}");
        assert!(form(16).is_ok());
    }

    #[test]
    fn the_rule_that_leaves_nothing_is_named() {
        let vocabulary = Vocabulary::from_texts(["流楼月日山"]);
        let rules = Rules {
            rhyme: Some(Wanted::Only("尤".parse().unwrap())),
            no_repeat: true,
            ..Rules::default()
        };
        let template = Template::parse("****月，*****。").unwrap();
        let task = Task::verse(&template, &rules, &vocabulary).unwrap();
        let dead_end = |poem: &str| {
            let history = [&[NEWLINE], &vocabulary.encode(poem).unwrap()[..]].concat();
            let mask = task.mask(&history, vocabulary.len()).unwrap();
            (mask.count() == 0).then(|| task.dead_end(&history, vocabulary.len()))
        };
        assert_eq!(dead_end("流日山日月，日日日日"), None);
        assert_eq!(
            dead_end("流楼山日月，日日日日"),
            Some(DeadEnd {
                line: 1,
                column: 4,
                rule: Rule::NoRepeat,
                left: 2,
                others: vec![Rule::Form, Rule::Rhyme],
            })
        );
        let other = Vocabulary::from_texts(["AB"]);
        let task = Task::form(Form::WuJue.into(), &other).unwrap();
        let dead_end = task.dead_end(&[NEWLINE], other.len());
        assert_eq!((dead_end.rule, dead_end.left), (Rule::Form, 5));
        assert_eq!(dead_end.others, []);
    }

    #[test]
    fn heads_and_form_hold_together() {
        let vocabulary = Vocabulary::from_texts(["春眠不觉晓"]);
        let task = Task::acrostic("春眠不觉", Form::WuJue.into(), &vocabulary).unwrap();
        assert_eq!(task.prompt(), [NEWLINE]);
        let mask = task.mask(&[NEWLINE], vocabulary.len()).unwrap();
        assert_eq!(
            mask.tokens().collect::<Vec<_>>(),
            vocabulary.encode("春").unwrap()
        );
        let mask = task.mask(&[NEWLINE, 3], vocabulary.len()).unwrap();
        assert_eq!(mask.tokens().count(), 5, "any Han character");
    }
}
