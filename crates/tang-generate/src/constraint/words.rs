//! The words that a poem is to have, and the ways to place them.

use std::sync::Arc;

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

/// Count of verses that a first, plain search makes; most need a few.
const QUICK: usize = 100;

/// A search for an arrangement.
struct Search<'a> {
    words: &'a Words,
    /// The tokens since the poem began.
    poem: &'a [TokenId],
    /// Whether these exemptions are allowed.
    allows: &'a dyn Fn(&[Exemption]) -> bool,
    /// The words to place.
    open: Vec<usize>,
    /// By word, the starts to try, in this order.
    choices: Vec<Vec<usize>>,
    /// Count of verses that it may still make.
    budget: usize,
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
        // A contained word still has its places here.
        if words.words.iter().any(|word| word.starts.is_empty()) {
            return Ok((words, None));
        }
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
        if let Some((starts, verse)) = &first {
            words.exemptions.clone_from(&verse.exemptions);
            words.drop_unsuitable(starts);
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
        self.possible(poem, starts, &|exemptions| self.allows(exemptions)).is_some()
    }

    fn possible(
        &self,
        poem: &[TokenId],
        starts: &[Option<usize>],
        allows: &dyn Fn(&[Exemption]) -> bool,
    ) -> Option<(Template, Verse)> {
        let found = self.verse(starts);
        found.filter(|(_, verse)| allows(&verse.exemptions) && verse.agrees(poem))
    }

    fn search(
        &self,
        poem: &[TokenId],
        mut starts: Vec<Option<usize>>,
        earliest: usize,
        rng: &mut ChaCha8Rng,
        allows: &dyn Fn(&[Exemption]) -> bool,
    ) -> Option<Arrangement> {
        let shuffled = |word: &Word| {
            let late = word.starts.iter().copied().filter(|start| *start >= earliest);
            let mut keyed: Vec<(u32, usize)> = late.map(|start| (rng.random(), start)).collect();
            keyed.sort_unstable();
            keyed.into_iter().map(|(_, start)| start).collect()
        };
        let mut search = Search {
            words: self,
            poem,
            allows,
            open: (0..starts.len()).filter(|word| starts[*word].is_none()).collect(),
            choices: self.words.iter().map(shuffled).collect(),
            budget: QUICK,
        };
        let mut found = search.fill(&mut starts);
        if found.is_none() && search.budget == 0 && search.narrow(&starts) {
            found = search.fill(&mut starts);
        }
        found.map(|verse| (starts.into_iter().flatten().collect(), verse))
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

    /// Removes the starts where a word, even alone, does not keep the rules; those of an arrangement stay.
    fn drop_unsuitable(&mut self, arranged: &[usize]) {
        for index in 0..self.words.len() {
            let mut starts = std::mem::take(&mut self.words[index].starts);
            starts.retain(|start| {
                let mut alone = vec![None; self.words.len()];
                alone[index] = Some(*start);
                arranged[index] == *start || self.allow(&[], &alone)
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
    /// Gives each open word a start, and the verse with all of them.
    fn fill(&mut self, starts: &mut Vec<Option<usize>>) -> Option<Verse> {
        self.budget = self.budget.checked_sub(1)?;
        let (template, verse) = self.words.possible(self.poem, starts, self.allows)?;
        // Words that the fixed characters will contain come last, those with the fewest starts first.
        let words = &self.words.words;
        let order = |word: &usize| (words[*word].starts.is_empty(), self.choices[*word].len());
        let open = self.open.iter().copied().filter(|word| starts[*word].is_none());
        let Some(next) = open.min_by_key(order) else {
            return Some(verse);
        };
        let choices = match template.find(&words[next].characters) {
            Some(start) => vec![start],
            None => self.choices[next].clone(),
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

    /// Keeps the starts where a word is possible without the other open ones, and gives the search no limit; false
    /// if one word or two have no starts, which a search among all might find only after trying all others.
    fn narrow(&mut self, starts: &[Option<usize>]) -> bool {
        self.budget = usize::MAX;
        let open = self.open.clone();
        for word in open.iter().copied().filter(|word| !self.words.words[*word].starts.is_empty()) {
            let mut choices = std::mem::take(&mut self.choices[word]);
            choices.retain(|start| {
                let mut alone = starts.to_vec();
                alone[word] = Some(*start);
                self.words.possible(self.poem, &alone, self.allows).is_some()
            });
            if choices.is_empty() {
                return false;
            }
            self.choices[word] = choices;
        }
        let own = open.iter().filter(|word| !self.words.words[**word].starts.is_empty());
        let own: Vec<usize> = own.copied().collect();
        let fits = own.iter().enumerate().all(|(index, a)| {
            own[index + 1..].iter().all(|b| {
                self.open = vec![*a, *b];
                self.fill(&mut starts.to_vec()).is_some()
            })
        });
        self.open = open;
        fits
    }
}
