//! The words that a poem is to have, and the ways to place them.

use std::{cmp::Reverse, sync::Arc};

use rand::{RngExt, rngs::ChaCha8Rng};
use tang_prosody::Template;
use tang_tokenizer::{TokenId, Vocabulary};

use super::{exemption::Exemption, material::Material, rules::Rules, verse::Verse};
use crate::GenerateError;

/// Words, each of which is to be somewhere in the poem, whole and within a line.
pub(super) struct Words {
    material: Arc<Material>,
    /// The lines and the given characters, without the words.
    pub(super) template: Template,
    pub(super) words: Vec<Word>,
    /// The fixed characters that the rules are relaxed for: all that an arrangement may have.
    exemptions: Vec<Exemption>,
}

/// One of them.
pub(super) struct Word {
    pub(super) characters: Vec<char>,
    pub(super) tokens: Vec<TokenId>,
    /// The positions where it can begin; none if the given characters or another word contain it.
    pub(super) starts: Vec<usize>,
}

/// The start of each word, and the verse with the words as fixed characters.
pub(super) type Arrangement = (Vec<usize>, Verse);

/// A search for an arrangement.
struct Search<'a> {
    words: &'a Words,
    /// The tokens since the poem began.
    poem: &'a [TokenId],
    /// The least start of a word that is not placed yet.
    earliest: usize,
    /// Decides the order of the starts.
    rng: &'a mut ChaCha8Rng,
    /// Whether these exemptions are allowed.
    allows: &'a dyn Fn(&[Exemption]) -> bool,
}

impl Words {
    /// These words, and a first arrangement of them, if there is one.
    ///
    /// # Errors
    ///
    /// Those of [`Task::verse`](crate::Task::verse), but for [`GenerateError::NoPlace`].
    pub(super) fn new(
        template: &Template,
        rules: &Rules,
        words: &[&str],
        vocabulary: &Vocabulary,
        rng: &mut ChaCha8Rng,
    ) -> Result<(Self, Option<Arrangement>), GenerateError> {
        let material = Arc::new(Material::new(rules, vocabulary));
        let without = Verse::new(template, &material)?;
        if !(without.exemptions.is_empty() || rules.relax) {
            return Err(GenerateError::Unkept { exemptions: without.exemptions });
        }
        let mut words = Self {
            words: words
                .iter()
                .map(|word| Word::new(word, template, vocabulary))
                .collect::<Result<_, _>>()?,
            material,
            template: template.clone(),
            exemptions: Vec::new(),
        };
        words.drop_contained();
        // As few exemptions as possible.
        let least = without.exemptions.len();
        let characters: usize = words.words.iter().map(|word| word.characters.len()).sum();
        let most = if rules.relax { least + characters } else { least };
        let free = vec![None; words.words.len()];
        let first = (least..=most).find_map(|count| {
            let allows = |exemptions: &[Exemption]| exemptions.len() <= count;
            words.search(&[], free.clone(), 0, rng, &allows)
        });
        if let Some((_, verse)) = &first {
            words.exemptions.clone_from(&verse.exemptions);
            words.drop_unsuitable();
        }
        Ok((words, first))
    }

    /// An arrangement that goes on from `poem`, with the words of `placed` at their starts and all others at
    /// `earliest` or later.
    pub(super) fn arrange(
        &self,
        poem: &[TokenId],
        placed: Vec<Option<usize>>,
        earliest: usize,
        rng: &mut ChaCha8Rng,
    ) -> Option<Arrangement> {
        self.search(poem, placed, earliest, rng, &|exemptions| self.allows(exemptions))
    }

    /// Whether words at these starts, without the others, are possible after `poem`.
    pub(super) fn allow(&self, poem: &[TokenId], starts: &[Option<usize>]) -> bool {
        self.verse(starts)
            .is_some_and(|(_, verse)| self.allows(&verse.exemptions) && verse.agrees(poem))
    }

    fn search(
        &self,
        poem: &[TokenId],
        mut starts: Vec<Option<usize>>,
        earliest: usize,
        rng: &mut ChaCha8Rng,
        allows: &dyn Fn(&[Exemption]) -> bool,
    ) -> Option<Arrangement> {
        let verse = Search { words: self, poem, earliest, rng, allows }.fill(&mut starts)?;
        Some((starts.into_iter().flatten().collect(), verse))
    }

    fn allows(&self, exemptions: &[Exemption]) -> bool {
        exemptions.iter().all(|exemption| self.exemptions.contains(exemption))
    }

    /// Leaves no start to a word that the given characters or another word contain.
    fn drop_contained(&mut self) {
        let contains = |long: &Word, short: &Word| {
            long.characters.windows(short.characters.len()).any(|part| part == short.characters)
        };
        let contained: Vec<bool> = (0..self.words.len())
            .map(|index| {
                let word = &self.words[index];
                let mut others = self.words.iter().enumerate();
                self.template.find(&word.characters).is_some()
                    || others.any(|(other, long)| {
                        // Among equal words, the first is placed.
                        let longer = long.characters.len() > word.characters.len();
                        (longer || other < index) && contains(long, word)
                    })
            })
            .collect();
        for (word, contained) in self.words.iter_mut().zip(contained) {
            if contained {
                word.starts.clear();
            }
        }
    }

    /// Removes the starts where a word, even alone, does not keep the rules.
    fn drop_unsuitable(&mut self) {
        for index in 0..self.words.len() {
            let mut starts = std::mem::take(&mut self.words[index].starts);
            starts.retain(|start| {
                let mut alone = vec![None; self.words.len()];
                alone[index] = Some(*start);
                self.allow(&[], &alone)
            });
            self.words[index].starts = starts;
        }
    }

    /// The template and the verse with words at these starts; `None` if two fixed characters need the same place or
    /// a word repeats a character against the rule.
    fn verse(&self, starts: &[Option<usize>]) -> Option<(Template, Verse)> {
        let mut template = self.template.clone();
        for (word, start) in self.words.iter().zip(starts) {
            if let Some(start) = start {
                template = template.with(*start, &word.characters)?;
            }
        }
        let Rules { no_repeat, relax, .. } = self.material.rules;
        if no_repeat && !relax && self.repeats(&template) {
            return None;
        }
        let verse = Verse::new(&template, &self.material).ok()?;
        Some((template, verse))
    }

    /// Whether a character of a word comes twice in `template`, other than doubled in a line.
    fn repeats(&self, template: &Template) -> bool {
        let given: Vec<_> = self.template.fixed().collect();
        let fixed: Vec<_> = template.fixed().collect();
        fixed.iter().enumerate().any(|(index, a)| {
            fixed[index + 1..].iter().any(|b| {
                let doubled = a.0 == b.0 && a.1 + 1 == b.1;
                a.2 == b.2 && !doubled && !(given.contains(a) && given.contains(b))
            })
        })
    }
}

impl Word {
    fn new(
        text: &str,
        template: &Template,
        vocabulary: &Vocabulary,
    ) -> Result<Self, GenerateError> {
        let characters: Vec<char> = text.chars().collect();
        let line = template.layout().line_length().chars();
        if characters.is_empty() {
            return Err(GenerateError::Empty);
        }
        if characters.len() > line {
            return Err(GenerateError::LongWord { word: text.to_owned(), line });
        }
        let positions = 0..template.layout().char_count();
        Ok(Self {
            starts: positions
                .filter(|start| template.with(*start, &characters).is_some())
                .collect(),
            tokens: vocabulary.encode(text)?,
            characters,
        })
    }
}

impl Search<'_> {
    /// Gives each word a start, and the verse with all of them.
    fn fill(&mut self, starts: &mut Vec<Option<usize>>) -> Option<Verse> {
        let (template, verse) = self.words.verse(starts)?;
        if !(self.allows)(&verse.exemptions) || !verse.agrees(self.poem) {
            return None;
        }
        let words = &self.words.words;
        // Those that the fixed characters will contain come last, the hardest to place first.
        let order = |index: &usize| {
            let Word { characters, starts, .. } = &words[*index];
            (!starts.is_empty(), characters.len(), Reverse(starts.len()))
        };
        let open = (0..words.len()).filter(|index| starts[*index].is_none());
        let Some(next) = open.max_by_key(order) else {
            return Some(verse);
        };
        let choices = match template.find(&words[next].characters) {
            Some(start) => vec![start],
            None => self.shuffled(&words[next].starts),
        };
        for start in choices {
            starts[next] = Some(start);
            if let Some(verse) = self.fill(starts) {
                return Some(verse);
            }
        }
        starts[next] = None;
        None
    }

    /// The starts from the earliest on, in random order.
    fn shuffled(&mut self, starts: &[usize]) -> Vec<usize> {
        let late = starts.iter().copied().filter(|start| *start >= self.earliest);
        let mut keyed: Vec<(u32, usize)> = late.map(|start| (self.rng.random(), start)).collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, start)| start).collect()
    }
}
