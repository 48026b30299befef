//! The key/value cache of a network on a device.

use std::ops::Range;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use tang_checkpoint::ModelConfig;
use tang_engine::CacheBytes;

/// Tokens for which there is room at first.
const FIRST: usize = 128;

/// Keys and values of every layer for a batch of rows, as tensors.
///
/// Attention reads the whole capacity with a mask, so a longer text has the same shapes and a GPU needs
/// no other kernels for it. Keys and values after the length of a row count for nothing.
#[derive(Debug, Clone)]
pub(crate) struct DeviceCache {
    config: ModelConfig,
    device: Device,
    layers: Vec<LayerCache>,
    lengths: Vec<usize>,
    capacity: usize,
}

/// Keys and values of one layer: keys after rotation, both before they are repeated for the query
/// heads.
#[derive(Debug, Clone)]
struct LayerCache {
    /// `[batch, kv_heads, head_dim, capacity]`
    keys: Tensor<4>,
    /// `[batch, kv_heads, capacity, head_dim]`
    values: Tensor<4>,
}

impl DeviceCache {
    /// An empty cache of `batch` rows.
    pub(crate) fn new(config: &ModelConfig, batch: usize, device: &Device) -> Self {
        let capacity = config.context.min(FIRST);
        let layers = (0..config.layers)
            .map(|_| LayerCache::zeros(config, batch, capacity, device))
            .collect();
        Self {
            config: *config,
            device: device.clone(),
            layers,
            lengths: vec![0; batch],
            capacity,
        }
    }

    /// Count of cached tokens per row.
    pub(crate) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Bytes of keys and values.
    pub(crate) fn bytes(&self) -> CacheBytes {
        let per_token = self.config.cache_bytes_per_token();
        let held: usize = self.lengths.iter().sum();
        CacheBytes {
            used: held * per_token,
            allocated: self.lengths.len() * self.capacity * per_token,
        }
    }

    /// The capacity that a cache has grown to once a row holds `tokens`, one after the other.
    pub(crate) fn capacity_for(&self, tokens: usize) -> usize {
        let context = self.config.context;
        let mut capacity = context.min(FIRST);
        while capacity < tokens.min(context) {
            capacity = (2 * capacity).min(context);
        }
        capacity
    }

    /// Forgets all tokens of row `i` from position `lengths[i]` on.
    ///
    /// # Panics
    ///
    /// If there is not one length a row, or one is longer than its row.
    pub(crate) fn truncate(&mut self, lengths: &[usize]) {
        assert_eq!(lengths.len(), self.lengths.len(), "one length a row");
        for (row, (held, length)) in self.lengths.iter_mut().zip(lengths).enumerate() {
            assert!(
                length <= held,
                "row {row} holds {held} tokens, not {length}"
            );
            *held = *length;
        }
    }

    /// Makes row `rows[i]` the new row `i`: drops, reorders or duplicates rows.
    ///
    /// # Panics
    ///
    /// If a row does not exist.
    pub(crate) fn select(&mut self, rows: &[usize]) {
        self.lengths = rows.iter().map(|row| self.lengths[*row]).collect();
        let indices: Vec<i32> = rows.iter().map(|row| *row as i32).collect();
        let indices = TensorData::new(indices, [rows.len()]);
        let indices = Tensor::<1, Int>::from_data(indices, &self.device);
        for layer in &mut self.layers {
            for store in [&mut layer.keys, &mut layer.values] {
                store.inplace(|store| store.select(0, indices.clone()));
            }
        }
    }

    /// Makes room for `added` more tokens per row: at least twice the capacity, up to the context.
    ///
    /// # Panics
    ///
    /// If a row would grow past the context.
    pub(crate) fn make_room(&mut self, added: usize) {
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        let (wanted, context) = (longest + added, self.config.context);
        assert!(
            wanted <= context,
            "{wanted} tokens in a context of {context}"
        );
        if wanted <= self.capacity {
            return;
        }
        let capacity = wanted.max(2 * self.capacity).min(context);
        let (batch, more) = (self.lengths.len(), capacity - self.capacity);
        for layer in &mut self.layers {
            let room = LayerCache::zeros(&self.config, batch, more, &self.device);
            layer
                .keys
                .inplace(|keys| Tensor::cat(vec![keys, room.keys], 3));
            layer
                .values
                .inplace(|values| Tensor::cat(vec![values, room.values], 2));
        }
        self.capacity = capacity;
    }

    /// Positions of `added` new tokens per row.
    pub(crate) fn positions(&self) -> Positions {
        Positions {
            starts: self.lengths.clone(),
        }
    }

    /// Masks over the places of the cache for `added` new tokens per row at `positions`.
    pub(crate) fn masks(&self, positions: &Positions, added: usize) -> Masks {
        let starts = match positions.uniform() {
            Some(start) => &[start][..],
            None => positions.starts(),
        };
        // flags[r, 0, t, place] = is(place, starts[r] + t)
        let compare = |is: fn(usize, usize) -> bool| {
            let flags: Vec<bool> = starts
                .iter()
                .flat_map(|start| *start..start + added)
                .flat_map(|own| (0..self.capacity).map(move |place| is(place, own)))
                .collect();
            let flags = TensorData::new(flags, [starts.len(), 1, added, self.capacity]);
            Tensor::from_data(flags, &self.device)
        };
        Masks {
            hidden: compare(|place, own| place > own),
            own: (starts.len() > 1 && added == 1).then(|| compare(|place, own| place == own)),
        }
    }

    /// The part of the cache that one layer may write.
    pub(crate) fn slot<'a>(
        &'a mut self,
        layer: usize,
        positions: &'a Positions,
        masks: &'a Masks,
    ) -> LayerSlot<'a> {
        LayerSlot {
            layer: &mut self.layers[layer],
            positions,
            masks,
        }
    }

    /// Counts `added` tokens per row as cached, once every layer has written them.
    pub(crate) fn advance(&mut self, added: usize) {
        for length in &mut self.lengths {
            *length += added;
        }
    }
}

impl LayerCache {
    fn zeros(config: &ModelConfig, batch: usize, capacity: usize, device: &Device) -> Self {
        let (heads, head_dim) = (config.kv_heads, config.head_dim());
        Self {
            keys: Tensor::zeros([batch, heads, head_dim, capacity], device),
            values: Tensor::zeros([batch, heads, capacity, head_dim], device),
        }
    }
}

/// Positions of the new tokens of a forward pass.
pub(crate) struct Positions {
    /// Position of the first new token of each row; a single one without a cache.
    starts: Vec<usize>,
}

impl Positions {
    /// The first new token of every row is at `start`.
    pub(crate) fn at(start: usize) -> Self {
        Self {
            starts: vec![start],
        }
    }

    /// Position of the first new token of each row.
    pub(crate) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Position of the first new token, if it is the same in every row.
    pub(crate) fn uniform(&self) -> Option<usize> {
        let first = *self.starts.first()?;
        let same = self.starts.iter().all(|start| *start == first);
        same.then_some(first)
    }
}

/// Masks over the places of a cache.
pub(crate) struct Masks {
    /// True for places after a token, which it must not see: `[1 or batch, 1, added, capacity]`.
    hidden: Tensor<4, Bool>,
    /// True for the place of the one new token of each row: `[batch, 1, 1, capacity]`; `None` if there
    /// are more, or if all rows have one length.
    own: Option<Tensor<4, Bool>>,
}

/// One layer's part of the cache during one forward pass.
pub(crate) struct LayerSlot<'a> {
    layer: &'a mut LayerCache,
    positions: &'a Positions,
    masks: &'a Masks,
}

impl LayerSlot<'_> {
    /// Writes new keys and values after those that are cached, and returns the whole cache with the mask of
    /// places that must not be seen.
    ///
    /// # Shapes
    ///
    /// - key, value: `[batch, kv_heads, added, head_dim]`
    /// - output: keys `[batch, kv_heads, head_dim, capacity]`, values `[batch, kv_heads, capacity,
    ///   head_dim]`; true for hidden places, `[1 or batch, 1, added, capacity]`
    pub(crate) fn append(
        self,
        key: Tensor<4>,
        value: Tensor<4>,
    ) -> (Tensor<4>, Tensor<4>, Tensor<4, Bool>) {
        let own = self.masks.own.clone();
        let of_values = own.clone().map(|own| own.swap_dims(2, 3));
        let key = key.swap_dims(2, 3);
        let keys = write(&mut self.layer.keys, key, 3, self.positions, own);
        let values = write(&mut self.layer.values, value, 2, self.positions, of_values);
        (keys, values, self.masks.hidden.clone())
    }
}

/// Writes `new` into `store` at each row's position along a dimension, in place, and returns a handle
/// to it. `own`, if it is there, is true at these positions, and all rows are written at once.
fn write(
    store: &mut Tensor<4>,
    new: Tensor<4>,
    along: usize,
    positions: &Positions,
    own: Option<Tensor<4, Bool>>,
) -> Tensor<4> {
    let place = |rows: Range<usize>, start: usize| {
        let mut place = new.dims().map(|size| 0..size);
        place[0] = rows;
        place[along] = start..start + new.dims()[along];
        place
    };
    // The store is moved through each write: a second handle would force a copy of it.
    if let Some(start) = positions.uniform() {
        let place = place(0..new.dims()[0], start);
        store.inplace(|tensor| tensor.slice_assign(place, new.clone()));
    } else if let Some(own) = own {
        let shape = store.dims();
        store.inplace(|tensor| tensor.mask_where(own.expand(shape), new.expand(shape)));
    } else {
        for (row, start) in positions.starts.iter().enumerate() {
            let own = new.clone().narrow(0, row, 1);
            let place = place(row..row + 1, *start);
            store.inplace(|tensor| tensor.slice_assign(place, own));
        }
    }
    store.clone()
}
