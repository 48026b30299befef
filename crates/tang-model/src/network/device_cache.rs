//! The key/value cache of a network on a device.

use std::ops::Range;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use tang_checkpoint::ModelConfig;
use tang_engine::CacheBytes;

/// First capacity, in tokens.
const FIRST: usize = 128;

/// Keys and values of every layer for a batch of rows, as tensors.
///
/// Attention reads the whole capacity with a mask, so a longer text has the same shapes and a GPU needs
/// no other kernels for it. The mask hides keys and values after the length of a row.
#[derive(Debug, Clone)]
pub(crate) struct DeviceCache {
    config: ModelConfig,
    device: Device,
    layers: Vec<LayerCache>,
    /// Count of cached tokens per row.
    lengths: Vec<usize>,
    capacity: usize,
}

/// Keys and values of one layer: keys after rotation, both once per key/value head.
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
        Self { config: *config, device: device.clone(), layers, lengths: vec![0; batch], capacity }
    }

    /// Bytes of keys and values.
    pub(crate) fn bytes(&self) -> CacheBytes {
        let per_token = self.config.cache_bytes_per_token();
        let cached: usize = self.lengths.iter().sum();
        CacheBytes {
            used: cached * per_token,
            allocated: self.lengths.len() * self.capacity * per_token,
        }
    }

    /// The capacity of a cache that has grown token by token to `tokens` per row.
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
    /// If there is not one length per row, or one is longer than its row.
    pub(crate) fn truncate(&mut self, lengths: &[usize]) {
        assert_eq!(lengths.len(), self.lengths.len(), "one length per row");
        for (cached, length) in self.lengths.iter_mut().zip(lengths) {
            assert!(length <= cached, "{length} of {cached} tokens");
            *cached = *length;
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

    /// Makes room for `added` more tokens per row and returns their places. If the capacity grows,
    /// it at least doubles, up to the context. Padding may go beyond the context.
    pub(crate) fn make_room(&mut self, added: usize) -> NewTokens {
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        let wanted = longest + added;
        if wanted > self.capacity {
            let capacity = wanted.max((2 * self.capacity).min(self.config.context));
            let (batch, more) = (self.lengths.len(), capacity - self.capacity);
            for layer in &mut self.layers {
                let room = LayerCache::zeros(&self.config, batch, more, &self.device);
                let LayerCache { keys, values } = layer;
                keys.inplace(|keys| Tensor::cat(vec![keys, room.keys], 3));
                values.inplace(|values| Tensor::cat(vec![values, room.values], 2));
            }
            self.capacity = capacity;
        }
        let mut starts = self.lengths.clone();
        // Rows of one length share a position and a mask.
        if starts.iter().all(|start| *start == longest) {
            starts.truncate(1);
        }
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
        NewTokens {
            hidden: compare(|place, own| place > own),
            own: (starts.len() > 1 && added == 1).then(|| compare(|place, own| place == own)),
            starts,
        }
    }

    /// The part of the cache that one layer may write.
    pub(crate) fn slot<'a>(&'a mut self, layer: usize, new: &'a NewTokens) -> LayerSlot<'a> {
        LayerSlot { layer: &mut self.layers[layer], new }
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

/// The places of the new tokens of a forward pass.
pub(crate) struct NewTokens {
    /// Position of the first new token of each row, or one for all.
    pub(crate) starts: Vec<usize>,
    /// True for the places after a token, which the mask hides from it: `[1 or batch, 1, added,
    /// capacity]`.
    hidden: Tensor<4, Bool>,
    /// True for the place of the one new token of each row: `[batch, 1, 1, capacity]`; `None` if there
    /// are more, or if all rows have one length.
    own: Option<Tensor<4, Bool>>,
}

/// One layer's part of the cache during one forward pass.
pub(crate) struct LayerSlot<'a> {
    layer: &'a mut LayerCache,
    new: &'a NewTokens,
}

impl LayerSlot<'_> {
    /// Writes new keys and values after those that are cached, and returns the whole cache with the
    /// mask of hidden places.
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
        let key = key.swap_dims(2, 3);
        let keys = self.new.write(&mut self.layer.keys, key, 3);
        let values = self.new.write(&mut self.layer.values, value, 2);
        (keys, values, self.new.hidden.clone())
    }
}

impl NewTokens {
    /// Writes `new` into `store` at the position of each row along a dimension, in place, and returns a
    /// handle to it.
    fn write(&self, store: &mut Tensor<4>, new: Tensor<4>, along: usize) -> Tensor<4> {
        let place = |rows: Range<usize>, start: usize| {
            let mut place = new.dims().map(|size| 0..size);
            place[0] = rows;
            place[along] = start..start + new.dims()[along];
            place
        };
        // The store is moved through each write: a second handle would force a copy of it.
        if let [start] = self.starts[..] {
            let place = place(0..new.dims()[0], start);
            store.inplace(|tensor| tensor.slice_assign(place, new.clone()));
        } else if let Some(own) = &self.own {
            let (own, shape) = (own.clone().swap_dims(along, 3), store.dims());
            store.inplace(|tensor| tensor.mask_where(own.expand(shape), new.expand(shape)));
        } else {
            for (row, start) in self.starts.iter().enumerate() {
                let own = new.clone().narrow(0, row, 1);
                let place = place(row..row + 1, *start);
                store.inplace(|tensor| tensor.slice_assign(place, own));
            }
        }
        store.clone()
    }
}
