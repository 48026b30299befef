//! What a poem starts from, and what it must keep.

use std::sync::Arc;

use tang_prosody::{Layout, is_han};
use tang_tokenizer::{NEWLINE, TokenId, Vocabulary};

use crate::{
    GenerateError,
    acrostic_constraint::AcrosticConstraint,
    constraint::{Constraint, Mask},
    form_constraint::FormConstraint,
};

/// A prompt, which always begins with the newline that begins a poem, and the constraints on what
/// follows it.
#[derive(Clone)]
pub struct Task {
    prompt: Vec<TokenId>,
    constraints: Vec<Arc<dyn Constraint>>,
}

impl Task {
    /// Writes a poem of any kind from nothing, freely.
    pub fn open() -> Self {
        Self {
            prompt: vec![NEWLINE],
            constraints: Vec::new(),
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

    /// Writes a poem with the lines of `layout` from nothing. `context` is the model's.
    ///
    /// # Errors
    ///
    /// [`GenerateError::TooLong`] if the lines do not fit the context.
    pub fn form(
        layout: Layout,
        vocabulary: &Vocabulary,
        context: usize,
    ) -> Result<Self, GenerateError> {
        // The newline takes a position; the last character takes none, as nothing follows it.
        if layout.char_count() > context {
            return Err(GenerateError::TooLong {
                lines: layout.lines(),
                characters: layout.char_count(),
                context,
            });
        }
        let mut task = Self::open();
        let form = FormConstraint::new(layout, vocabulary);
        task.constraints.push(Arc::new(form));
        Ok(task)
    }

    /// Writes a poem with the lines of `layout`, each beginning with its character of `heads`.
    ///
    /// # Errors
    ///
    /// If a head is no Han character or unknown, or the lines do not fit the context.
    ///
    /// # Panics
    ///
    /// If there is not one head a line.
    pub fn acrostic(
        heads: &str,
        layout: Layout,
        vocabulary: &Vocabulary,
        context: usize,
    ) -> Result<Self, GenerateError> {
        assert_eq!(heads.chars().count(), layout.lines(), "one head a line");
        if let Some((index, character)) = heads.chars().enumerate().find(|(_, c)| !is_han(*c)) {
            return Err(GenerateError::NoHead {
                character,
                position: index + 1,
            });
        }
        let heads = vocabulary.encode(heads)?;
        let mut task = Self::form(layout, vocabulary, context)?;
        task.constraints
            .push(Arc::new(AcrosticConstraint { layout, heads }));
        Ok(task)
    }

    /// The tokens to start from.
    pub fn prompt(&self) -> &[TokenId] {
        &self.prompt
    }

    /// The tokens that may follow `history`, which begins with the prompt; `None` if all may.
    pub(crate) fn mask(&self, history: &[TokenId], vocab_size: usize) -> Option<Mask> {
        if self.constraints.is_empty() {
            return None;
        }
        let mut mask = Mask::all(vocab_size);
        for constraint in &self.constraints {
            constraint.restrict(&history[1..], &mut mask);
        }
        Some(mask)
    }
}

#[cfg(test)]
mod tests {
    use tang_prosody::{Form, LineLength};

    use super::*;

    #[test]
    fn refuses_what_cannot_be_written() {
        let vocabulary = Vocabulary::from_texts(["春眠不觉晓"]);
        let layout = |lines| Layout::new(lines, LineLength::Seven);
        let message = |task: Result<Task, GenerateError>| task.err().unwrap().to_string();
        assert!(message(Task::continuation("", &vocabulary)).contains("empty"));
        assert!(message(Task::continuation("春花", &vocabulary)).contains("`花`"));
        assert!(message(Task::acrostic("春，", layout(2), &vocabulary, 128)).contains("`，`"));
        assert!(message(Task::acrostic("春花", layout(2), &vocabulary, 128)).contains("`花`"));
        let long = message(Task::form(layout(17), &vocabulary, 128));
        assert!(long.contains("136") && long.contains("128"), "{long}");
        assert!(Task::form(layout(16), &vocabulary, 128).is_ok());
    }

    #[test]
    fn heads_and_form_hold_together() {
        let vocabulary = Vocabulary::from_texts(["春眠不觉晓"]);
        let task = Task::acrostic("春眠不觉", Form::WuJue.into(), &vocabulary, 128).unwrap();
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
