//! The key/value cache: what attention computed for earlier positions, kept so that each new token passes through the
//! network once.

use std::{mem, ops::Range};

use tang_checkpoint::ModelConfig;
use tang_kernels::KvRow;
use tang_tokenizer::TokenId;

use super::memory::check_cache_memory;
use crate::{
    EngineError,
    network::{
        forward::ShardCache,
        shard::{self, SHARDS},
    },
};

/// First capacity of a row, in tokens, unless fewer were announced. Most poems have fewer.
const FIRST: usize = 128;

/// Keys (after rotation) and values of every layer for a batch of rows.
///
/// The length of a row is the only record of positions: its next token is at position `length`. Keys and values after
/// that are never read, so [`truncate`](Self::truncate) only lowers a number.
///
/// # Layout
///
/// Each row has memory of its own. With a capacity of whole blocks of 16 tokens:
///
/// - keys: `[layers, kv_heads, capacity / 16, head_dim, 16]`, so number d of token t is at
///   `[.., t / 16, d, t % 16]`, and the products of a query with 16 keys are sums of vectors;
/// - values: `[layers, kv_heads, capacity, head_dim]`.
///
/// A row that is full gets twice the capacity: at first up to the announced length, then up to the context of the
/// model.
#[derive(Debug, Clone)]
pub struct KvCache {
    config: ModelConfig,
    /// Rows and tokens per row that were announced.
    reserved: (usize, usize),
    lengths: Vec<usize>,
    rows: Vec<Row>,
}

/// The memory of one row.
#[derive(Debug, Clone, Default)]
struct Row {
    /// Whole blocks.
    capacity: usize,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl KvCache {
    /// A cache of `rows` empty rows, without memory yet.
    pub fn new(config: &ModelConfig, rows: usize) -> Self {
        Self {
            config: *config,
            reserved: (rows, FIRST),
            lengths: vec![0; rows],
            rows: vec![Row::default(); rows],
        }
    }

    /// Announces at most `rows` rows of at most `tokens` tokens each, those of all forks of the
    /// decoder counted. The announced length bounds the first capacity of a row.
    ///
    /// # Errors
    ///
    /// [`EngineError::CacheTooLarge`] if there is not enough memory for them.
    pub fn reserve(&mut self, rows: usize, tokens: usize) -> Result<(), EngineError> {
        self.reserved = (rows, tokens.min(self.config.context));
        check_cache_memory(&self.config, rows, 0, Self::capacity_for(self.reserved.1.min(FIRST)))
    }

    /// Empties the cache and sets the count of rows to `rows`; rows keep their memory.
    pub fn start(&mut self, rows: usize) {
        self.rows.resize_with(rows, Row::default);
        self.lengths = vec![0; rows];
    }

    /// Count of cached tokens per row.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Bytes of the cached keys and values.
    pub fn used_bytes(&self) -> usize {
        self.lengths.iter().sum::<usize>() * self.config.cache_bytes_per_token()
    }

    /// Bytes of memory that is set aside for them.
    pub fn allocated_bytes(&self) -> usize {
        self.rows.iter().map(|row| size_of_val(&row.keys[..]) + size_of_val(&row.values[..])).sum()
    }

    /// Forgets all tokens of row `i` from position `lengths[i]` on.
    ///
    /// # Panics
    ///
    /// If there is not one length per row, or one is longer than its row.
    pub fn truncate(&mut self, lengths: &[usize]) {
        assert_eq!(lengths.len(), self.lengths.len(), "one length per row");
        for (row, (cached, length)) in self.lengths.iter_mut().zip(lengths).enumerate() {
            assert!(length <= cached, "row {row} has {cached} tokens, not {length}");
            *cached = *length;
        }
    }

    /// Makes row `rows[i]` the new row `i`: drops, reorders or duplicates rows.
    ///
    /// # Panics
    ///
    /// If a row does not exist.
    pub fn select(&mut self, rows: &[usize]) {
        self.lengths = rows.iter().map(|row| self.lengths[*row]).collect();
        let mut old = mem::take(&mut self.rows);
        // The last use of a row moves its memory, the others copy it.
        let mut last_use = vec![0; old.len()];
        for (index, row) in rows.iter().enumerate() {
            last_use[*row] = index;
        }
        let uses = rows.iter().enumerate();
        let kept = uses.map(|(index, row)| {
            if last_use[*row] == index { mem::take(&mut old[*row]) } else { old[*row].clone() }
        });
        self.rows = kept.collect();
    }

    /// The capacity of a row for `tokens` tokens: whole blocks.
    pub(crate) fn capacity_for(tokens: usize) -> usize {
        tokens.next_multiple_of(KvRow::BLOCK)
    }

    /// Checks that the new tokens of each row fit into the context.
    ///
    /// # Errors
    ///
    /// [`EngineError::TextTooLong`] or [`EngineError::ContextFull`].
    pub(crate) fn check_room(&self, new: &[&[TokenId]]) -> Result<(), EngineError> {
        assert_eq!(new.len(), self.lengths.len(), "the cache has other rows");
        let context = self.config.context;
        for (held, new) in self.lengths.iter().zip(new) {
            let added = new.len();
            if added > context {
                return Err(EngineError::TextTooLong { length: added, context });
            }
            if held + added > context {
                return Err(EngineError::ContextFull { held: *held, added, capacity: context });
            }
        }
        Ok(())
    }

    /// Makes room for the new tokens of each row.
    ///
    /// # Errors
    ///
    /// [`EngineError::CacheTooLarge`]; no token of the cache is lost.
    pub(crate) fn make_room(&mut self, new: &[&[TokenId]]) -> Result<(), EngineError> {
        let mut growing = Vec::new();
        for (row, new) in new.iter().enumerate() {
            let (length, capacity) = (self.lengths[row], self.rows[row].capacity);
            let wanted = length + new.len();
            if wanted > capacity {
                let announced = self.reserved.1;
                let twice =
                    if capacity < announced { (2 * capacity).min(announced) } else { 2 * capacity };
                let tokens = wanted.max(announced.min(FIRST)).max(twice);
                growing.push((row, tokens.min(self.config.context)));
            }
        }
        let held = growing.iter().map(|(row, _)| self.rows[*row].capacity);
        let most = growing.iter().map(|(_, tokens)| *tokens);
        if let (Some(held), Some(most)) = (held.min(), most.max()) {
            // Rows that were announced and do not exist yet are counted, too.
            let rows = growing.len() + self.reserved.0.saturating_sub(self.rows.len());
            check_cache_memory(&self.config, rows, held, Self::capacity_for(most))?;
        }
        for (row, tokens) in growing {
            self.rows[row] = self.rows[row].grown(&self.config, self.lengths[row], tokens);
        }
        Ok(())
    }

    /// This cache, with the announced sizes of `other`.
    pub(crate) fn reserved_as(mut self, other: &Self) -> Self {
        self.reserved = other.reserved;
        self
    }

    /// The two shards of each share of `per_share` rows, for the rows in `range`.
    pub(crate) fn shards(
        &mut self,
        range: Range<usize>,
        per_share: usize,
    ) -> Vec<[ShardCache<'_>; SHARDS]> {
        let ModelConfig { layers, kv_heads, .. } = self.config;
        let first_heads = shard::part(0, kv_heads, 1).len();
        let rows = self.rows[range.clone()].chunks_mut(per_share);
        rows.zip(self.lengths[range].chunks(per_share))
            .map(|(rows, lengths)| {
                let mut shards = [0, 1].map(|index| ShardCache {
                    index,
                    layers: (0..layers).map(|_| Vec::with_capacity(rows.len())).collect(),
                });
                for (row, length) in rows.iter_mut().zip(lengths) {
                    let per_layer = row.keys.len() / layers;
                    let middle = per_layer / kv_heads * first_heads;
                    let keys = row.keys.chunks_exact_mut(per_layer);
                    let values = row.values.chunks_exact_mut(per_layer);
                    for (layer, (keys, values)) in keys.zip(values).enumerate() {
                        let (first_keys, second_keys) = keys.split_at_mut(middle);
                        let (first_values, second_values) = values.split_at_mut(middle);
                        let halves = [(first_keys, first_values), (second_keys, second_values)];
                        for (shard, (keys, values)) in shards.iter_mut().zip(halves) {
                            shard.layers[layer].push(KvRow { length: *length, keys, values });
                        }
                    }
                }
                shards
            })
            .collect()
    }

    /// Counts new tokens of the rows from `first` on as cached, once every layer has written them.
    pub(crate) fn advance(&mut self, first: usize, new: &[&[TokenId]]) {
        for (length, new) in self.lengths[first..].iter_mut().zip(new) {
            *length += new.len();
        }
    }
}

impl Row {
    /// The same row, of `length` tokens, with room for `tokens`.
    fn grown(&self, config: &ModelConfig, length: usize, tokens: usize) -> Self {
        let capacity = KvCache::capacity_for(tokens);
        let heads = config.layers * config.kv_heads;
        let dim = config.head_dim();
        let held = length.next_multiple_of(KvRow::BLOCK) * dim;
        // Blocks of keys and values of a head are in the order of the tokens, so a head is copied whole.
        let copied = |old: &[f32]| {
            let mut new = vec![0.0; heads * capacity * dim];
            if held > 0 {
                let heads = new.chunks_exact_mut(capacity * dim);
                for (new, old) in heads.zip(old.chunks_exact(self.capacity * dim)) {
                    new[..held].copy_from_slice(&old[..held]);
                }
            }
            new
        };
        Self { capacity, keys: copied(&self.keys), values: copied(&self.values) }
    }
}
