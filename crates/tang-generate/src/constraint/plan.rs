//! The places of words in one poem, while it is written.

use std::sync::Arc;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use tang_kernels::log_sum_exp;
use tang_prosody::{Slot, Template};
use tang_tokenizer::{TokenId, Vocabulary};

use super::{
    mask::Mask,
    refusal::refusal,
    rules::Rules,
    verse::Verse,
    words::{Arrangement, Words},
};
use crate::GenerateError;

/// A verse with a place for each word: the place where it is written, or one where it can still be written. The latter
/// may change until the word begins, so the poem always has room for every word.
///
/// A word begins at a place with a chance that follows the model: p / (p + n m), where p is the model's probability of
/// the first character there, n the count of later places where the word can begin, and m the mean of p so far. So
/// places that are equally likely are chosen equally often. The mean is that of square roots, squared: few places
/// have most of the probability, and a plain mean would expect as much of the later ones and leave words for the end.
#[derive(Clone)]
pub(crate) struct Plan {
    words: Arc<Words>,
    starts: Vec<usize>,
    /// By word, the positions where it still can begin, as far as that was known at the beginning of the line.
    possible: Vec<Vec<usize>>,
    /// By word, the square roots of the probabilities of its first character so far.
    seen: Vec<Mean>,
    verse: Arc<Verse>,
}

/// The place of a word in a poem, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordPlace {
    /// Count of characters before it, marks counted.
    pub position: usize,
    /// The line.
    pub line: usize,
    /// The place of its first character in the line.
    pub column: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    total: f64,
    count: usize,
}

impl Plan {
    /// The lines of a template under these rules, with these words.
    ///
    /// # Errors
    ///
    /// Those of [`Task::verse`](crate::Task::verse).
    pub(crate) fn new(
        template: &Template,
        rules: &Rules,
        words: &[&str],
        vocabulary: &Vocabulary,
    ) -> Result<Self, GenerateError> {
        let (all, found) = Words::new(template, rules, words, vocabulary, &mut noise(None, 0))?;
        let Some((starts, verse)) = found else {
            return Err(refusal(template, rules, words, vocabulary)?);
        };
        Ok(Self {
            seen: vec![Mean::default(); starts.len()],
            possible: all.words.iter().map(|word| word.starts.clone()).collect(),
            words: Arc::new(all),
            starts,
            verse: Arc::new(verse),
        })
    }

    /// The verse with the words in their places.
    pub(crate) fn verse(&self) -> &Verse {
        &self.verse
    }

    /// The tokens that may follow `poem`, the tokens since the poem began.
    ///
    /// # Errors
    ///
    /// [`GenerateError::NothingAllowed`] if there is none.
    pub(crate) fn mask(&self, poem: &[TokenId]) -> Result<Mask, GenerateError> {
        let mut mask = self.verse.mask(poem)?;
        // A word that is still to come is not written by chance before.
        for word in self.open(poem.len()) {
            if let [before @ .., last] = &self.words.words[word].tokens[..]
                && poem.ends_with(before)
                && mask.count() > 1
            {
                mask.remove(*last);
            }
        }
        Ok(mask)
    }

    /// Whether the character at `position` belongs to a word and was not given otherwise.
    pub(crate) fn is_word(&self, position: usize) -> bool {
        let layout = self.words.template.layout();
        let given = self.words.template.fixed();
        let mut given = given.map(|(line, column, _)| layout.position(line, column));
        self.verse.fixed(position).is_some() && given.all(|given| given != position)
    }

    /// Whether a word that had a choice begins at `position`.
    pub(crate) fn begins(&self, position: usize) -> bool {
        self.own().any(|word| self.starts[word] == position)
    }

    /// The place of each word that has begun within the first `length` characters.
    pub(crate) fn places(&self, length: usize) -> Vec<Option<WordPlace>> {
        let place = |&position: &usize| match self.verse.layout.slot(position) {
            Slot::Han { line, column } if position < length => {
                Some(WordPlace { position, line, column })
            }
            _ => None,
        };
        self.starts.iter().map(place).collect()
    }

    /// Decides by chance which word begins after `poem`, if any; without a seed, a word begins if its chance is above 1/2.
    pub(crate) fn choose(&mut self, poem: &[TokenId], logits: &[f32], seed: Option<u64>) {
        if self.open(poem.len()).next().is_none() {
            return;
        }
        let mut rng = noise(seed, poem.len());
        let mut chances = self.chances(poem, logits);
        for (word, chance) in &chances {
            let coin = rng.random::<f64>();
            if seed.map_or(0.5, |_| coin) < *chance
                && let Some(next) = self.start(*word, poem, &mut rng)
            {
                *self = next;
                return;
            }
        }
        let next = self.wait(poem, &mut rng).or_else(|| {
            chances.sort_by(|(_, a), (_, b)| b.total_cmp(a));
            chances.iter().find_map(|(word, _)| self.start(*word, poem, &mut rng))
        });
        if let Some(next) = next {
            *self = next;
        }
    }

    /// All decisions about the words after `poem`, with the logarithms of their chances.
    pub(crate) fn branches(&self, poem: &[TokenId], logits: &[f32]) -> Vec<(Self, f64)> {
        let mut plan = self.clone();
        let chances = plan.chances(poem, logits);
        let mut rng = noise(None, poem.len());
        let mut branches = Vec::new();
        let mut rest = 0.0;
        for (word, chance) in chances {
            if let Some(next) = plan.start(word, poem, &mut rng) {
                branches.push((next, rest + chance.ln()));
                rest += (-chance).ln_1p();
            }
        }
        if let Some(next) = plan.wait(poem, &mut rng) {
            branches.push((next, rest));
            return branches;
        }
        if branches.is_empty() {
            return vec![(plan, 0.0)];
        }
        let total = branches.iter().map(|(_, chance)| chance.exp()).sum::<f64>().ln();
        branches.into_iter().map(|(plan, chance)| (plan, chance - total)).collect()
    }

    /// The words that have places of their own.
    fn own(&self) -> impl Iterator<Item = usize> {
        let words = self.words.words.iter().enumerate();
        words.filter(|(_, word)| !word.starts.is_empty()).map(|(index, _)| index)
    }

    /// Those of them that are not written before `position`.
    fn open(&self, position: usize) -> impl Iterator<Item = usize> {
        self.own().filter(move |word| self.starts[*word] >= position)
    }

    /// The open words that can begin after `poem`, with their chances.
    fn chances(&mut self, poem: &[TokenId], logits: &[f32]) -> Vec<(usize, f64)> {
        let at = poem.len();
        if let Slot::Han { column: 0, .. } = self.verse.layout.slot(at) {
            self.narrow(poem);
        }
        let open = self.open(at).filter(|word| self.possible[*word].contains(&at));
        let open: Vec<usize> = open.collect();
        if open.is_empty() {
            return Vec::new();
        }
        let norm = log_sum_exp(logits);
        let chance = |word: usize| {
            let later = self.possible[word].iter().filter(|start| **start > at).count();
            let first = self.words.words[word].tokens[0];
            let p = (f64::from(logits[first as usize]) - norm).exp().max(f64::MIN_POSITIVE);
            let roots = &mut self.seen[word];
            roots.total += p.sqrt();
            roots.count += 1;
            (word, p / (p + later as f64 * (roots.total / roots.count as f64).powi(2)))
        };
        open.into_iter().map(chance).collect()
    }

    /// Removes the positions where words cannot begin any more after `poem`.
    fn narrow(&mut self, poem: &[TokenId]) {
        let placed = self.placed(poem.len());
        for word in self.open(poem.len()).collect::<Vec<_>>() {
            let mut possible = std::mem::take(&mut self.possible[word]);
            possible.retain(|start| {
                let mut placed = placed.clone();
                placed[word] = Some(*start);
                *start >= poem.len() && self.words.allow(poem, &placed)
            });
            self.possible[word] = possible;
        }
    }

    /// The plan in which `word` begins after `poem`; `None` if the others have no places then.
    fn start(&self, word: usize, poem: &[TokenId], rng: &mut ChaCha8Rng) -> Option<Self> {
        let mut placed = self.placed(poem.len());
        placed[word] = Some(poem.len());
        Some(self.arranged(self.words.arrange(poem, placed, poem.len(), rng)?))
    }

    /// The plan in which no word begins after `poem`; `None` if the words have no places then.
    fn wait(&self, poem: &[TokenId], rng: &mut ChaCha8Rng) -> Option<Self> {
        let at = poem.len();
        // The first arrangement is the same for all poems, until chance makes another.
        if at > 0 && self.open(at).all(|word| self.starts[word] > at) {
            return Some(self.clone());
        }
        Some(self.arranged(self.words.arrange(poem, self.placed(at), at + 1, rng)?))
    }

    /// The starts of the words that are written, as far as they had a choice.
    fn placed(&self, position: usize) -> Vec<Option<usize>> {
        let mut placed = vec![None; self.starts.len()];
        for word in self.own().filter(|word| self.starts[*word] < position) {
            placed[word] = Some(self.starts[word]);
        }
        placed
    }

    fn arranged(&self, (starts, verse): Arrangement) -> Self {
        Self { starts, verse: Arc::new(verse), ..self.clone() }
    }
}

/// The random numbers of a poem's plan at a position: other ones than those of its characters.
fn noise(seed: Option<u64>, position: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed.unwrap_or(0));
    rng.set_stream(u64::MAX - position as u64);
    rng
}
