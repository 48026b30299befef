//! Batches of whole poems, in an order that the seed and the step decide alone.

use rand::{SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use tang_tokenizer::{NEWLINE, TokenId, Vocabulary};

use crate::TrainError;

/// One poem in so many is joined with others to rows as long as the context, so that every
/// position is trained; the others stand alone in their rows, as in validation.
const JOINED_SHARE: usize = 4;

/// Epochs whose characters are counted; those of more are worked out from these, since each epoch takes
/// a shuffle of all poems.
pub(crate) const COUNTED_EPOCHS: usize = 16;

/// Rows of equal length to learn from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Tokens that go in, row after row.
    pub(crate) inputs: Vec<TokenId>,
    /// The token that follows each of them.
    pub(crate) targets: Vec<TokenId>,
    /// Number of rows.
    pub(crate) rows: usize,
}

impl Batch {
    /// Cuts rows into inputs and the tokens that follow them.
    ///
    /// # Panics
    ///
    /// If the rows have different lengths.
    pub(crate) fn new(rows: &[Vec<TokenId>]) -> Self {
        let length = rows[0].len();
        assert!(
            rows.iter().all(|row| row.len() == length),
            "rows of one length"
        );
        Self {
            inputs: rows
                .iter()
                .flat_map(|r| &r[..length - 1])
                .copied()
                .collect(),
            targets: rows.iter().flat_map(|r| &r[1..]).copied().collect(),
            rows: rows.len(),
        }
    }

    /// The batch in at most `parts` batches of nearly as many rows each, in order.
    pub(crate) fn split(&self, parts: usize) -> Vec<Self> {
        let length = self.length();
        let tokens = self.rows.div_ceil(parts) * length;
        let pairs = self.inputs.chunks(tokens).zip(self.targets.chunks(tokens));
        pairs
            .map(|(inputs, targets)| Self {
                inputs: inputs.to_vec(),
                targets: targets.to_vec(),
                rows: inputs.len() / length,
            })
            .collect()
    }

    /// Tokens in a row.
    pub(crate) fn length(&self) -> usize {
        self.inputs.len() / self.rows
    }
}

/// All training poems, and the order in which each epoch shows them.
///
/// Poems of one length share a batch, so nothing is padded.
#[derive(Debug)]
pub(crate) struct Batches {
    /// Poems as newline + poem + newline, grouped by length.
    groups: Vec<Vec<Vec<TokenId>>>,
    seed: u64,
    batch_tokens: usize,
    context: usize,
    /// The epoch that `order` belongs to.
    epoch: usize,
    order: Vec<Batch>,
    per_epoch: usize,
}

impl Batches {
    /// Groups the poems.
    ///
    /// # Errors
    ///
    /// If a poem has an unknown character or does not fit the context, or there is none.
    pub(crate) fn new(
        poems: &[String],
        vocabulary: &Vocabulary,
        context: usize,
        batch_tokens: usize,
        seed: u64,
    ) -> Result<Self, TrainError> {
        let groups = group_by_length(poems, vocabulary, context)?;
        let mut batches = Self {
            groups,
            seed,
            batch_tokens,
            context,
            epoch: 0,
            order: Vec::new(),
            per_epoch: 0,
        };
        batches.order = batches.shuffled(0);
        batches.per_epoch = batches.order.len();
        if batches.per_epoch == 0 {
            return Err(TrainError::NoPoem);
        }
        Ok(batches)
    }

    /// Batches in one pass over the poems.
    pub(crate) fn per_epoch(&self) -> usize {
        self.per_epoch
    }

    /// The batch of step `step`, counted from 1. How many rows the joined poems fill varies a little,
    /// but every epoch has as many steps as the first: a batch too many is left out, and for one too
    /// few the epoch's first comes again.
    pub(crate) fn get(&mut self, step: usize) -> &Batch {
        let epoch = (step - 1) / self.per_epoch;
        if epoch != self.epoch {
            self.order = self.shuffled(epoch);
            self.epoch = epoch;
        }
        &self.order[(step - 1) % self.per_epoch % self.order.len()]
    }

    /// Characters that `steps` steps from step `first` on train on. Beyond [`COUNTED_EPOCHS`] epochs it is
    /// about that many: as if the others had the mean of those.
    pub(crate) fn tokens(&mut self, first: usize, steps: usize) -> u64 {
        let counted = steps.min(COUNTED_EPOCHS * self.per_epoch);
        let tokens: u64 = (first..first + counted)
            .map(|step| self.get(step).targets.len() as u64)
            .sum();
        let rest = (steps - counted) as f64 * (tokens as f64 / counted.max(1) as f64);
        tokens.saturating_add(rest as u64)
    }

    fn shuffled(&self, epoch: usize) -> Vec<Batch> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(epoch as u64);
        let mut batches: Vec<Vec<Vec<TokenId>>> = Vec::new();
        let mut joined = Vec::new();
        for group in &self.groups {
            let mut poems: Vec<_> = group.iter().collect();
            poems.shuffle(&mut rng);
            joined.extend(poems.split_off(poems.len() - poems.len() / JOINED_SHARE));
            let size = (self.batch_tokens / (group[0].len() - 1)).max(1);
            let rows = poems.chunks(size);
            batches.extend(rows.map(|rows| rows.iter().copied().cloned().collect()));
        }
        joined.shuffle(&mut rng);
        let rows = join(&joined, self.context);
        let size = (self.batch_tokens / self.context).max(1);
        batches.extend(rows.chunks(size).map(<[_]>::to_vec));
        batches.shuffle(&mut rng);
        batches.iter().map(|rows| Batch::new(rows)).collect()
    }
}

/// Strings poems of any length together, with one newline between two, to rows that begin with a
/// poem and fill the context. What the last poem of a row has beyond it is cut, and poems that fill
/// no row are left for another epoch.
fn join(poems: &[&Vec<TokenId>], context: usize) -> Vec<Vec<TokenId>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    for poem in poems {
        row.extend(&poem[..poem.len() - 1]);
        if row.len() >= context {
            row.push(NEWLINE);
            row.truncate(context + 1);
            rows.push(std::mem::take(&mut row));
        }
    }
    rows
}

/// Poems as newline + poem + newline, those of one length together, shortest first.
pub(crate) fn group_by_length(
    poems: &[String],
    vocabulary: &Vocabulary,
    context: usize,
) -> Result<Vec<Vec<Vec<TokenId>>>, TrainError> {
    let mut groups = std::collections::BTreeMap::<usize, Vec<_>>::new();
    for poem in poems {
        let row = vocabulary.encode(&format!("\n{poem}\n"))?;
        if row.len() > context + 1 {
            return Err(TrainError::PoemTooLong {
                poem: poem.clone(),
                positions: row.len() - 1,
                context,
            });
        }
        groups.entry(row.len()).or_default().push(row);
    }
    Ok(groups.into_values().collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn poems() -> Vec<String> {
        let characters: Vec<char> = ('一'..='龥').take(40 * 12).collect();
        characters
            .chunks(12)
            .enumerate()
            .map(|(i, chunk)| chunk[..if i % 3 == 0 { 6 } else { 12 }].iter().collect())
            .collect()
    }

    fn batches(seed: u64) -> Batches {
        let poems = poems();
        let vocabulary = Vocabulary::from_texts(poems.iter().map(String::as_str));
        Batches::new(&poems, &vocabulary, 32, 64, seed).unwrap()
    }

    #[test]
    fn targets_are_the_inputs_one_further() {
        let mut batches = batches(0);
        for step in 1..=batches.per_epoch() {
            let batch = batches.get(step).clone();
            let length = batch.length();
            assert!(batch.inputs.len() <= 64, "{}", batch.inputs.len());
            for row in 0..batch.rows {
                let range = row * length..(row + 1) * length;
                assert_eq!(batch.inputs[range.start], NEWLINE);
                assert_eq!(
                    batch.inputs[range.clone()][1..],
                    batch.targets[range][..length - 1]
                );
            }
        }
    }

    #[test]
    fn parts_are_the_whole() {
        let rows: Vec<Vec<TokenId>> = (0..5).map(|row| (row..row + 4).collect()).collect();
        let batch = Batch::new(&rows);
        let parts = batch.split(2);
        assert_eq!(parts, [Batch::new(&rows[..3]), Batch::new(&rows[3..])]);
        assert_eq!(Batch::new(&rows[..1]).split(2).len(), 1);
    }

    #[test]
    fn an_epoch_shows_each_character_at_most_once_and_nearly_all() {
        let mut batches = batches(0);
        let mut seen = BTreeMap::<TokenId, usize>::new();
        let mut longest = 0;
        for step in 1..=batches.per_epoch() {
            let batch = batches.get(step);
            longest = longest.max(batch.length());
            for token in &batch.targets {
                *seen.entry(*token).or_default() += 1;
            }
        }
        assert_eq!(longest, 32, "some rows fill the context");
        seen.remove(&NEWLINE);
        assert!(seen.values().all(|count| *count == 1));
        let all: usize = poems().iter().map(|p| p.chars().count()).sum();
        assert!(seen.len() * 4 > all * 3, "{} of {all}", seen.len());
    }

    #[test]
    fn order_depends_on_seed_and_step_alone() {
        let (mut a, mut b) = (batches(1), batches(1));
        let per_epoch = a.per_epoch();
        let jump = a.get(per_epoch + 2).clone();
        for step in 1..=per_epoch + 2 {
            b.get(step);
        }
        assert_eq!(*b.get(per_epoch + 2), jump);
        assert_ne!(a.get(1), batches(2).get(1));
        let first = b.get(1).clone();
        assert_ne!(first, *b.get(per_epoch + 1), "epochs differ");
    }

    #[test]
    fn epochs_have_as_many_steps_whatever_they_join() {
        let mut batches = batches(0);
        let per_epoch = batches.per_epoch();
        let mut sizes = BTreeMap::<usize, usize>::new();
        for epoch in 0..50 {
            let last = batches.get((epoch + 1) * per_epoch);
            assert!(last.rows > 0);
            *sizes.entry(batches.order.len()).or_default() += 1;
        }
        assert!(sizes.len() > 1, "no epoch differs: {sizes:?}");
        assert!(*sizes.first_key_value().unwrap().0 < per_epoch, "{sizes:?}");
    }

    #[test]
    fn the_characters_of_many_steps_are_worked_out_from_those_of_some() {
        let mut batches = batches(0);
        let per_epoch = batches.per_epoch();
        let mut count = |first, steps| -> u64 {
            let steps = first..first + steps;
            steps
                .map(|step| batches.get(step).targets.len() as u64)
                .sum()
        };
        let exact = COUNTED_EPOCHS * per_epoch;
        let (few, many) = (count(3, exact), count(3, 4 * exact));
        assert_eq!(batches.tokens(3, exact), few);
        assert_eq!(batches.tokens(1, 0), 0);
        let about = batches.tokens(3, 4 * exact);
        assert!(about.abs_diff(many) < many / 50, "{about} {many}");
        assert_eq!(batches.tokens(1, usize::MAX), u64::MAX);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let poems = vec!["一二三".to_owned()];
        let vocabulary = Vocabulary::from_texts(["一二三"]);
        assert!(matches!(
            Batches::new(&poems, &vocabulary, 3, 64, 0),
            Err(TrainError::PoemTooLong {
                positions: 4,
                context: 3,
                ..
            })
        ));
        assert!(matches!(
            Batches::new(&[], &vocabulary, 32, 64, 0),
            Err(TrainError::NoPoem)
        ));
        let unknown = vec!["四".to_owned()];
        assert!(Batches::new(&unknown, &vocabulary, 32, 64, 0).is_err());
    }
}
