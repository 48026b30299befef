//! Batches of whole poems, in an order that depends on the seed and the step alone.

use std::{collections::BTreeMap, mem, slice::Chunks};

use rand::{SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use tang_tokenizer::{FULL_STOP_ID, NEWLINE, TokenId, Vocabulary};

use crate::{TrainConfig, TrainError};

/// One poem in `JOINED_SHARE` is joined with others to rows as long as the context, so that every
/// position is trained; the others have a row each, as in validation.
const JOINED_SHARE: usize = 4;

/// Most epochs whose characters are counted, since each takes a shuffle of all poems. Characters of
/// further epochs are estimated from these.
const COUNTED_EPOCHS: usize = 16;

/// A sequence of tokens: all but the last are inputs, all but the first are targets.
pub(crate) type Row = Vec<TokenId>;

/// Rows of equal length to learn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch<'a>(pub(crate) &'a [Row]);

impl<'a> Batch<'a> {
    /// Count of inputs of a row.
    pub(crate) fn length(self) -> usize {
        self.0[0].len() - 1
    }

    /// Count of inputs of all rows, which is that of targets.
    pub(crate) fn tokens(self) -> usize {
        self.0.len() * self.length()
    }

    /// Inputs, row-major: `[rows, length]`.
    pub(crate) fn inputs(self) -> Vec<TokenId> {
        let inputs = self.0.iter().flat_map(|row| &row[..self.length()]);
        inputs.copied().collect()
    }

    /// The token after each input, `[rows, length]`.
    pub(crate) fn targets(self) -> Vec<TokenId> {
        self.0.iter().flat_map(|row| &row[1..]).copied().collect()
    }

    /// The weights of the targets in the loss, `[rows, length]`: those before a full stop, where the poem rhymes,
    /// have `at_rhymes` times that of the others, and all together are 1.
    pub(crate) fn weights(self, at_rhymes: f64) -> Vec<f32> {
        let row_weights = |row: &'a Row| {
            let after = row[2..].iter().map(|token| Some(*token)).chain([None]);
            after.map(|after| if after == Some(FULL_STOP_ID) { at_rhymes } else { 1.0 })
        };
        let weights: Vec<f64> = self.0.iter().flat_map(row_weights).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| (weight / sum) as f32).collect()
    }

    /// The batch in at most `parts` parts of nearly equal size, in order.
    pub(crate) fn split(self, parts: usize) -> Chunks<'a, Row> {
        self.0.chunks(self.0.len().div_ceil(parts))
    }
}

/// All training poems, and the order in which each epoch shows them.
///
/// Poems of one length share a batch, so nothing is padded.
#[derive(Debug)]
pub(crate) struct Batches {
    /// Poems as newline + poem + newline, grouped by length.
    groups: Vec<Vec<Row>>,
    seed: u64,
    batch_tokens: usize,
    context: usize,
    /// The epoch whose batches are in `order`.
    epoch: usize,
    order: Vec<Vec<Row>>,
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
        config: &TrainConfig,
    ) -> Result<Self, TrainError> {
        let mut batches = Self {
            groups: group_by_length(poems, vocabulary, context)?,
            seed: config.seed,
            batch_tokens: config.batch_tokens,
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

    /// Count of batches in one pass over the poems.
    pub(crate) fn per_epoch(&self) -> usize {
        self.per_epoch
    }

    /// The batch of step `step`, counted from 1; shuffles the poems if its epoch is not that of the
    /// last call.
    pub(crate) fn load(&mut self, step: usize) -> Batch<'_> {
        let (epoch, index) = ((step - 1) / self.per_epoch, (step - 1) % self.per_epoch);
        if epoch != self.epoch {
            self.order = self.shuffled(epoch);
            self.epoch = epoch;
        }
        // The count of joined rows varies a little between epochs, but every epoch has as many
        // steps as the first: a surplus batch is left out, and for a missing one the first batch
        // comes again.
        Batch(&self.order[index % self.order.len()])
    }

    /// Whether [`tokens`](Self::tokens) counts the characters of `steps` steps, without an estimate.
    pub(crate) fn counts(&self, steps: usize) -> bool {
        steps <= COUNTED_EPOCHS * self.per_epoch
    }

    /// Characters that `steps` steps from step `first` on train on. After [`COUNTED_EPOCHS`] epochs
    /// this is an estimate, with the mean of those for each further epoch.
    pub(crate) fn tokens(&mut self, first: usize, steps: usize) -> u64 {
        let counted = steps.min(COUNTED_EPOCHS * self.per_epoch);
        let tokens: u64 =
            (first..first + counted).map(|step| self.load(step).tokens() as u64).sum();
        let rest = (steps - counted) as f64 * (tokens as f64 / counted.max(1) as f64);
        tokens.saturating_add(rest as u64)
    }

    fn shuffled(&self, epoch: usize) -> Vec<Vec<Row>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(epoch as u64);
        let mut batches: Vec<Vec<Row>> = Vec::new();
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
        batches
    }
}

/// Joins poems of any length, with one newline between two, to rows that begin with a poem and fill the
/// context. The last poem of a row is cut at the context, and poems that fill no row are left for another
/// epoch.
fn join(poems: &[&Row], context: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    for poem in poems {
        row.extend(&poem[..poem.len() - 1]);
        if row.len() >= context {
            row.push(NEWLINE);
            row.truncate(context + 1);
            rows.push(mem::take(&mut row));
        }
    }
    rows
}

/// Poems as newline + poem + newline, those of one length together, shortest first.
pub(crate) fn group_by_length(
    poems: &[String],
    vocabulary: &Vocabulary,
    context: usize,
) -> Result<Vec<Vec<Row>>, TrainError> {
    let mut groups = BTreeMap::<usize, Vec<Row>>::new();
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
    use super::*;
    use crate::Preset;

    fn config(seed: u64) -> TrainConfig {
        TrainConfig { seed, batch_tokens: 64, ..Preset::Quick.config() }
    }

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
        Batches::new(&poems, &vocabulary, 32, &config(seed)).unwrap()
    }

    #[test]
    fn targets_are_the_inputs_one_further() {
        let mut batches = batches(0);
        for step in 1..=batches.per_epoch() {
            let batch = batches.load(step);
            let (length, inputs, targets) = (batch.length(), batch.inputs(), batch.targets());
            assert!(inputs.len() <= 64, "{}", inputs.len());
            assert_eq!((inputs.len(), targets.len()), (batch.tokens(), batch.tokens()));
            for (inputs, targets) in inputs.chunks(length).zip(targets.chunks(length)) {
                assert_eq!(inputs[0], NEWLINE);
                assert_eq!(inputs[1..], targets[..length - 1]);
            }
        }
    }

    #[test]
    fn targets_before_a_full_stop_count_more() {
        let rows = [vec![NEWLINE, 5, 6, FULL_STOP_ID, NEWLINE], vec![NEWLINE, 7, 8, 9, NEWLINE]];
        let wanted = [1.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(|weight| weight / 10.0);
        assert_eq!(Batch(&rows).weights(3.0), wanted);
        assert_eq!(Batch(&rows).weights(1.0), [0.125; 8]);
    }

    #[test]
    fn parts_are_the_whole() {
        let rows: Vec<Vec<TokenId>> = (0..5).map(|row| (row..row + 4).collect()).collect();
        let parts: Vec<&[Row]> = Batch(&rows).split(2).collect();
        assert_eq!(parts, [&rows[..3], &rows[3..]]);
        assert_eq!(Batch(&rows[..1]).split(2).len(), 1);
    }

    #[test]
    fn an_epoch_shows_each_character_at_most_once_and_nearly_all() {
        let mut batches = batches(0);
        let mut seen = BTreeMap::<TokenId, usize>::new();
        let mut longest = 0;
        for step in 1..=batches.per_epoch() {
            let batch = batches.load(step);
            longest = longest.max(batch.length());
            for token in batch.targets() {
                *seen.entry(token).or_default() += 1;
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
        let jump = a.load(per_epoch + 2).0.to_vec();
        for step in 1..=per_epoch + 2 {
            b.load(step);
        }
        assert_eq!(b.load(per_epoch + 2).0, jump);
        assert_ne!(a.load(1), batches(2).load(1));
        let first = b.load(1).0.to_vec();
        assert_ne!(b.load(per_epoch + 1).0, first, "epochs differ");
    }

    #[test]
    fn epochs_have_as_many_steps_whatever_they_join() {
        let mut batches = batches(0);
        let per_epoch = batches.per_epoch();
        let mut sizes = BTreeMap::<usize, usize>::new();
        for epoch in 0..50 {
            let last = batches.load((epoch + 1) * per_epoch);
            assert!(!last.0.is_empty());
            *sizes.entry(batches.order.len()).or_default() += 1;
        }
        assert!(sizes.len() > 1, "no epoch differs: {sizes:?}");
        assert!(*sizes.first_key_value().unwrap().0 < per_epoch, "{sizes:?}");
    }

    #[test]
    fn the_characters_of_many_steps_are_estimated_from_those_of_some() {
        let mut batches = batches(0);
        let per_epoch = batches.per_epoch();
        let mut count = |first, steps| -> u64 {
            let steps = first..first + steps;
            steps.map(|step| batches.load(step).targets().len() as u64).sum()
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
            Batches::new(&poems, &vocabulary, 3, &config(0)),
            Err(TrainError::PoemTooLong { positions: 4, context: 3, .. })
        ));
        assert!(matches!(Batches::new(&[], &vocabulary, 32, &config(0)), Err(TrainError::NoPoem)));
        let unknown = vec!["四".to_owned()];
        assert!(Batches::new(&unknown, &vocabulary, 32, &config(0)).is_err());
    }
}
