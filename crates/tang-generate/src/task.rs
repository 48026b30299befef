//! The beginning of a poem, and the rules of the rest.

use std::borrow::Cow;

use tang_engine::EngineError;
use tang_prosody::{Layout, Template};
use tang_tokenizer::{COMMA_ID, NEWLINE, TokenId, Vocabulary};

use crate::{
    Exemption, GenerateError, Rules,
    constraint::{
        mask::Mask,
        plan::{Plan, WordPlace},
    },
};

/// A prompt, which always begins with the newline that begins a poem, and the constraints on the tokens after it.
///
/// A given character that the vocabulary lacks is read by its stand-in ([`Vocabulary::given_id`]), and the rules are
/// those of the character itself. The tokens have the stand-in, so the caller prints the given characters.
#[derive(Clone)]
pub struct Task {
    prompt: Vec<TokenId>,
    /// `None` if any token may follow.
    plan: Option<Plan>,
    /// The places in the history, in order, of the given characters that the model reads by stand-ins.
    stand_ins: Vec<usize>,
}

impl Task {
    /// Writes a poem of any kind from nothing, freely.
    pub fn open() -> Self {
        Self { prompt: vec![NEWLINE], plan: None, stand_ins: Vec::new() }
    }

    /// Goes on from the beginning of a poem, freely.
    ///
    /// # Errors
    ///
    /// [`GenerateError::Empty`] if there is no text, [`GenerateError::Tokenizer`] if the vocabulary lacks a
    /// character and its stand-in.
    pub fn continuation(text: &str, vocabulary: &Vocabulary) -> Result<Self, GenerateError> {
        if text.is_empty() {
            return Err(GenerateError::Empty);
        }
        let mut task = Self::open();
        task.prompt.extend(vocabulary.encode_given(text)?);
        let absent = (1..).zip(text.chars()).filter(|(_, c)| vocabulary.id(*c).is_none());
        task.stand_ins = absent.map(|(place, _)| place).collect();
        Ok(task)
    }

    /// Writes the lines of a template, keeping its fixed characters and the rules.
    ///
    /// # Errors
    ///
    /// [`GenerateError::Tokenizer`] if the vocabulary lacks a fixed character and its stand-in; [`GenerateError::Unkept`] if one
    /// cannot keep the rules and they are not relaxed; [`GenerateError::NoTones`] for another number of lines than 4
    /// and 8; [`GenerateError::FewRhymes`].
    pub fn verse(
        template: &Template,
        rules: &Rules,
        vocabulary: &Vocabulary,
    ) -> Result<Self, GenerateError> {
        Self::verse_with(template, rules, &[], vocabulary)
    }

    /// [`verse`](Self::verse) with each of `words` somewhere in it, whole and within a line. The model chooses the
    /// places.
    ///
    /// # Errors
    ///
    /// Those of [`verse`](Self::verse); [`GenerateError::Empty`] if a word is; [`GenerateError::LongWord`] if one is
    /// longer than a line; [`GenerateError::NoPlace`] if the poem has no places for all of them.
    pub fn verse_with(
        template: &Template,
        rules: &Rules,
        words: &[&str],
        vocabulary: &Vocabulary,
    ) -> Result<Self, GenerateError> {
        let plan = Plan::new(template, rules, words, vocabulary)?;
        let absent = template.fixed().filter(|(.., c)| vocabulary.id(*c).is_none());
        // The newline before the poem has the first place.
        let place = |(line, column, _)| 1 + template.layout().position(line, column);
        let stand_ins = absent.map(place).collect();
        Ok(Self { plan: Some(plan), stand_ins, ..Self::open() })
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
    /// [`GenerateError::Prosody`] if a head is no Han character, and those of [`verse`](Self::verse).
    ///
    /// # Panics
    ///
    /// If there is not one head per line.
    pub fn acrostic(
        heads: &str,
        layout: Layout,
        vocabulary: &Vocabulary,
    ) -> Result<Self, GenerateError> {
        let template = Template::acrostic(heads, layout, 0)?;
        Self::verse(&template, &Rules::default(), vocabulary)
    }

    /// The task, if a model with `context` positions can write it. Every generation checks this; a
    /// caller may check it earlier.
    ///
    /// # Errors
    ///
    /// [`GenerateError::TooLong`] if the lines do not fit the context, [`EngineError::TextTooLong`] if the prompt
    /// does not.
    pub fn fit(self, context: usize) -> Result<Self, GenerateError> {
        self.check(context)?;
        Ok(self)
    }

    /// [`fit`](Self::fit) for a task that is in use.
    pub(crate) fn check(&self, context: usize) -> Result<(), GenerateError> {
        // The newline takes a position; the last character takes none, as nothing follows it.
        let characters = self.characters().unwrap_or(0);
        if let Some(plan) = &self.plan
            && characters > context
        {
            let lines = plan.verse().layout.lines();
            return Err(GenerateError::TooLong { lines, characters, context });
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

    /// The fixed characters that the rules were relaxed for.
    pub fn exemptions(&self) -> &[Exemption] {
        self.plan.as_ref().map_or(&[], |plan| &plan.verse().exemptions)
    }

    /// Count of characters and marks of the poem; `None` without a fixed layout.
    pub(crate) fn characters(&self) -> Option<usize> {
        Some(self.plan.as_ref()?.verse().layout.char_count())
    }

    /// The tokens that may follow `history`, which begins with the prompt; `None` if all may.
    ///
    /// # Errors
    ///
    /// [`GenerateError::NothingAllowed`] if none may.
    pub(crate) fn mask(&self, history: &[TokenId]) -> Result<Option<Mask>, GenerateError> {
        let plan = self.plan.as_ref();
        plan.map(|plan| plan.mask(poem(&self.compared(history)))).transpose()
    }

    /// The tokens of `history` as rules compare them with others: a mark for each stand-in, since the poem has
    /// another character there.
    pub(crate) fn compared<'a>(&self, history: &'a [TokenId]) -> Cow<'a, [TokenId]> {
        let mut compared = Cow::Borrowed(history);
        for place in self.stand_ins.iter().take_while(|place| **place < history.len()) {
            compared.to_mut()[*place] = COMMA_ID;
        }
        compared
    }

    /// Decides which word begins after `history`, if any: by chance, or without a seed the likelier.
    pub(crate) fn choose_word(&mut self, history: &[TokenId], logits: &[f32], seed: Option<u64>) {
        let Some(mut plan) = self.plan.take() else { return };
        plan.choose(poem(&self.compared(history)), logits, seed);
        self.plan = Some(plan);
    }

    /// All decisions about the words after `history`, with the logarithms of their chances.
    pub(crate) fn branches(&self, history: &[TokenId], logits: &[f32]) -> Vec<(Self, f64)> {
        let Some(plan) = &self.plan else {
            return vec![(self.clone(), 0.0)];
        };
        let branches = plan.branches(poem(&self.compared(history)), logits).into_iter();
        branches.map(|(plan, chance)| (Self { plan: Some(plan), ..self.clone() }, chance)).collect()
    }

    /// Whether the character after `history` belongs to a word and was not given otherwise.
    pub(crate) fn is_word(&self, history: &[TokenId]) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.is_word(poem(history).len()))
    }

    /// Whether a word whose place was chosen begins after `history`.
    pub(crate) fn begins_word(&self, history: &[TokenId]) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.begins(poem(history).len()))
    }

    /// The place of each word that `history` has or begins.
    pub(crate) fn word_places(&self, history: &[TokenId]) -> Vec<Option<WordPlace>> {
        self.plan.as_ref().map_or(Vec::new(), |plan| plan.places(poem(history).len()))
    }

    /// Whether `history`, which begins with the prompt, has all lines of the layout, with or
    /// without the final newline; false without a fixed layout.
    pub(crate) fn is_whole(&self, history: &[TokenId]) -> bool {
        self.characters().is_some_and(|count| poem(history).len() >= count)
    }
}

/// The tokens after the newline that begins every prompt.
fn poem(history: &[TokenId]) -> &[TokenId] {
    let poem = history.strip_prefix(&[NEWLINE]);
    poem.expect("a prompt begins with the newline")
}

#[cfg(test)]
mod tests {
    use tang_prosody::{Form, LineLength};

    use super::*;
    use crate::{DeadEnd, Rule, Wanted};

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
            match task.mask(&history) {
                Err(GenerateError::NothingAllowed(dead_end)) => Some(dead_end),
                Err(error) => panic!("{error}"),
                Ok(mask) => {
                    assert!(mask.unwrap().count() > 0);
                    None
                }
            }
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
        let Err(GenerateError::NothingAllowed(dead_end)) = task.mask(&[NEWLINE]) else {
            panic!("a poem without Han characters");
        };
        assert_eq!((dead_end.rule, dead_end.left), (Rule::Form, 5));
        assert_eq!(dead_end.others, []);
    }

    #[test]
    fn a_stand_in_is_read_and_compared_with_nothing() {
        let vocabulary = Vocabulary::from_texts(["玉流楼月日"]);
        let id = |c| vocabulary.id(c).unwrap();
        let task = Task::continuation("玥玉", &vocabulary).unwrap();
        assert_eq!(task.prompt(), [NEWLINE, id('玉'), id('玉')]);
        assert_eq!(*task.compared(task.prompt()), [NEWLINE, COMMA_ID, id('玉')]);
        let message = Task::continuation("汐𠮷", &vocabulary).err().unwrap().to_string();
        assert!(message.contains("`汐`") && message.contains("`𠮷`"), "{message}");

        let rules = Rules { no_repeat: true, ..Rules::default() };
        let template = Template::parse("玥**玥*。").unwrap();
        let task = Task::verse(&template, &rules, &vocabulary).unwrap();
        let allowed = |history: &[TokenId]| {
            let mask = task.mask(history).unwrap().unwrap();
            vocabulary.decode(&mask.tokens().collect::<Vec<_>>()).unwrap()
        };
        let mut history = vec![NEWLINE];
        for (wanted, next) in
            [("玉", '玉'), ("日月楼流玉", '玉'), ("日月楼流玉", '月'), ("玉", '玉')]
        {
            assert_eq!(allowed(&history), wanted);
            history.push(id(next));
        }
        assert_eq!(allowed(&history), "日楼流");
    }

    #[test]
    fn heads_and_form_hold_together() {
        let vocabulary = Vocabulary::from_texts(["春眠不觉晓"]);
        let task = Task::acrostic("春眠不觉", Form::WuJue.into(), &vocabulary).unwrap();
        assert_eq!(task.prompt(), [NEWLINE]);
        let mask = task.mask(&[NEWLINE]).unwrap().unwrap();
        assert_eq!(mask.tokens().collect::<Vec<_>>(), vocabulary.encode("春").unwrap());
        let mask = task.mask(&[NEWLINE, 3]).unwrap().unwrap();
        assert_eq!(mask.tokens().count(), 5, "any Han character");
    }
}
