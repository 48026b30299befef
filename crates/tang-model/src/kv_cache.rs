//! The key/value cache: what attention computed for earlier positions, kept so that each new
//! token passes through the network once.

use std::mem;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use tang_checkpoint::{ModelConfig, ModelError};
use tang_kernels::Attend;

use crate::{
    cache_store::{close_up, lengthened, write},
    cpu_tensor::CpuTensor,
    device::{has_kernels, is_cpu},
    pass::Store,
};

/// Places that a cache grows by on a GPU, which compiles kernels for each shape.
const GPU_BLOCK: usize = 128;

/// Keys and values of every layer for a batch of rows, with memory for as many tokens as its capacity.
///
/// Each row has a length of its own, and that length is the only record of positions: a row's
/// next token stands at position `length`. Keys and values beyond a row's length count for nothing,
/// so [`truncate`](Self::truncate) only lowers numbers.
#[derive(Debug, Clone)]
pub struct KvCache {
    layers: Vec<LayerCache>,
    lengths: Vec<usize>,
    capacity: usize,
}

/// Keys and values of one layer: keys after rotation, both before they are repeated for the query
/// heads.
#[derive(Debug, Clone)]
struct LayerCache {
    /// `[batch, kv_heads, head_dim, capacity]`; where kernels compute, a head's keys lie there in blocks
    /// of places.
    keys: Tensor<4>,
    /// `[batch, kv_heads, capacity, head_dim]`
    values: Tensor<4>,
}

impl KvCache {
    /// An empty cache of `batch` rows with room for `capacity` tokens each; a capacity beyond the
    /// model's context is cut to it.
    pub fn new(config: &ModelConfig, batch: usize, capacity: usize, device: &Device) -> Self {
        let capacity = capacity.min(config.context);
        let (heads, head_dim) = (config.kv_heads, config.head_dim());
        let layers = (0..config.layers)
            .map(|_| LayerCache {
                keys: Tensor::zeros([batch, heads, head_dim, capacity], device),
                values: Tensor::zeros([batch, heads, capacity, head_dim], device),
            })
            .collect();
        Self {
            layers,
            lengths: vec![0; batch],
            capacity,
        }
    }

    /// The capacity that has room for `tokens` tokens a row and can [grow](Self::grow): in whole blocks, and
    /// at most the model's context.
    pub fn capacity_for(config: &ModelConfig, tokens: usize, device: &Device) -> usize {
        let block = if is_cpu(device) {
            Attend::BLOCK
        } else {
            GPU_BLOCK
        };
        tokens
            .checked_next_multiple_of(block)
            .map_or(config.context, |places| places.min(config.context))
    }

    /// Makes room for `capacity` tokens a row, if there is less.
    ///
    /// # Panics
    ///
    /// If the last block of the capacity that there is is not whole: see
    /// [`capacity_for`](Self::capacity_for).
    pub fn grow(&mut self, capacity: usize) {
        if capacity <= self.capacity {
            return;
        }
        assert!(
            self.capacity.is_multiple_of(Attend::BLOCK),
            "a cache of {} places cannot grow",
            self.capacity
        );
        let more = capacity - self.capacity;
        for layer in &mut self.layers {
            layer.keys.inplace(|keys| lengthened(keys, 3, more));
            layer.values.inplace(|values| lengthened(values, 2, more));
        }
        self.capacity = capacity;
    }

    /// How many tokens each row holds.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// How many tokens a row can hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of keys and values that the rows hold now.
    pub fn used_bytes(&self) -> usize {
        let held: usize = self.lengths.iter().sum();
        self.bytes(|[_, a, b, c]| held * (a * b * c / self.capacity))
    }

    /// Bytes that are set aside for keys and values of the rows that there are.
    pub fn allocated_bytes(&self) -> usize {
        self.bytes(|shape| shape.iter().product())
    }

    /// Bytes of so many numbers of each tensor, by its shape.
    fn bytes(&self, numbers: impl Fn([usize; 4]) -> usize) -> usize {
        let tensors = self
            .layers
            .iter()
            .flat_map(|layer| [&layer.keys, &layer.values]);
        tensors
            .map(|tensor| numbers(tensor.dims()) * tensor.dtype().size())
            .sum()
    }

    /// Forgets all tokens of row `i` from position `lengths[i]` on.
    ///
    /// # Panics
    ///
    /// If there is not one length a row, or one is longer than its row.
    pub fn truncate(&mut self, lengths: &[usize]) {
        assert_eq!(lengths.len(), self.lengths.len(), "one length a row");
        for (row, (held, length)) in self.lengths.iter_mut().zip(lengths).enumerate() {
            assert!(
                length <= held,
                "row {row} holds {held} tokens, not {length}"
            );
            *held = *length;
        }
    }

    /// Forgets all tokens of all rows.
    pub fn clear(&mut self) {
        self.lengths.fill(0);
    }

    /// Makes row `rows[i]` the new row `i`: drops, reorders or duplicates rows.
    ///
    /// # Panics
    ///
    /// If a row does not exist.
    pub fn select(&mut self, rows: &[usize]) {
        self.lengths = rows.iter().map(|row| self.lengths[*row]).collect();
        let places = self.capacity;
        // Then none is overwritten before it is moved.
        let only_forward = rows.iter().enumerate().all(|(new, old)| *old >= new);
        for layer in &mut self.layers {
            for store in [&mut layer.keys, &mut layer.values] {
                if only_forward && has_kernels(&store.device()) {
                    store.inplace(|store| close_up(store, places, rows, &self.lengths));
                    continue;
                }
                let indices: Vec<i32> = rows.iter().map(|row| *row as i32).collect();
                let indices = TensorData::new(indices, [rows.len()]);
                let indices = Tensor::<1, Int>::from_data(indices, &store.device());
                store.inplace(|store| store.select(0, indices));
            }
        }
    }

    /// Where `added` new tokens a row would stand.
    pub(crate) fn positions(&self, batch: usize, added: usize) -> Result<Positions, ModelError> {
        assert_eq!(batch, self.lengths.len(), "the cache has other rows");
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        if added > self.capacity {
            return Err(ModelError::TextTooLong {
                length: added,
                context: self.capacity,
            });
        }
        if longest + added > self.capacity {
            return Err(ModelError::ContextFull {
                held: longest,
                added,
                capacity: self.capacity,
            });
        }
        Ok(Positions {
            starts: self.lengths.clone(),
        })
    }

    /// Gives `work` all keys and values where they lie, layer by layer. The device must have kernels.
    pub(crate) fn lend<T>(&mut self, work: impl FnOnce(Vec<Store<'_>>) -> T) -> T {
        let mut layers: Vec<[CpuTensor; 2]> = mem::take(&mut self.layers)
            .into_iter()
            .map(|layer| [layer.keys, layer.values].map(CpuTensor::of))
            .collect();
        let stores = layers.iter_mut().map(|[keys, values]| Store {
            keys: keys.values_mut(),
            values: values.values_mut(),
        });
        let result = work(stores.collect());
        let layers = layers.into_iter().map(|layer| {
            let [keys, values] = layer.map(CpuTensor::into_tensor);
            LayerCache { keys, values }
        });
        self.layers = layers.collect();
        result
    }

    /// What the places of the cache are to `added` new tokens a row, which stand at these positions.
    pub(crate) fn places(&self, positions: &Positions, added: usize) -> Places {
        let starts = match positions.uniform() {
            Some(start) => &[start][..],
            None => positions.starts(),
        };
        // For query t of row r, which stands at starts[r] + t, and each place.
        let compare = |is: fn(usize, usize) -> bool| {
            let flags: Vec<bool> = starts
                .iter()
                .flat_map(|start| *start..start + added)
                .flat_map(|own| (0..self.capacity).map(move |place| is(place, own)))
                .collect();
            let flags = TensorData::new(flags, [starts.len(), 1, added, self.capacity]);
            Tensor::from_data(flags, &self.layers[0].keys.device())
        };
        Places {
            hidden: compare(|place, own| place > own),
            own: (starts.len() > 1 && added == 1).then(|| compare(|place, own| place == own)),
        }
    }

    /// The part of the cache that one layer may write.
    pub(crate) fn slot<'a>(
        &'a mut self,
        layer: usize,
        positions: &'a Positions,
        places: &'a Places,
    ) -> LayerSlot<'a> {
        LayerSlot {
            layer: &mut self.layers[layer],
            positions,
            places,
        }
    }

    /// Counts `added` tokens a row as held, once every layer has written them.
    pub(crate) fn advance(&mut self, added: usize) {
        for length in &mut self.lengths {
            *length += added;
        }
    }
}

/// Where the new tokens of a forward pass stand.
pub(crate) struct Positions {
    /// Tokens that each row holds already, or one number where there is no cache.
    starts: Vec<usize>,
}

impl Positions {
    /// Every row's first new token stands at `start`.
    pub(crate) fn at(start: usize) -> Self {
        Self {
            starts: vec![start],
        }
    }

    /// The first new position of each row.
    pub(crate) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The first new position of each of `rows` rows.
    pub(crate) fn of_rows(self, rows: usize) -> Vec<usize> {
        match &self.starts[..] {
            [start] => vec![*start; rows],
            _ => self.starts,
        }
    }

    /// The first new position, if it is the same in every row.
    pub(crate) fn uniform(&self) -> Option<usize> {
        let first = *self.starts.first()?;
        let same = self.starts.iter().all(|start| *start == first);
        same.then_some(first)
    }
}

/// What the places of a cache are to new tokens, where tensor operations compute.
pub(crate) struct Places {
    /// True where a token must not see, `[1 or batch, 1, added, capacity]`.
    hidden: Tensor<4, Bool>,
    /// True where the one new token of each row stands, `[batch, 1, 1, capacity]`; none if there are
    /// more, or if all rows have one length.
    own: Option<Tensor<4, Bool>>,
}

/// One layer's part of the cache during one forward pass.
pub(crate) struct LayerSlot<'a> {
    layer: &'a mut LayerCache,
    positions: &'a Positions,
    places: &'a Places,
}

impl LayerSlot<'_> {
    /// Writes new keys and values behind those held, and returns the whole cache with what must not be
    /// seen of it. So its shape is the same until the cache grows, and a GPU needs few kernels for texts of many
    /// lengths.
    ///
    /// # Shapes
    ///
    /// - key, value: `[batch, kv_heads, added, head_dim]`
    /// - output: keys `[batch, kv_heads, head_dim, capacity]`, values `[batch, kv_heads, capacity,
    ///   head_dim]`, and true for what must not be seen, `[1 or batch, 1, added, capacity]`
    pub(crate) fn append(
        self,
        key: Tensor<4>,
        value: Tensor<4>,
    ) -> (Tensor<4>, Tensor<4>, Tensor<4, Bool>) {
        let own = self.places.own.clone();
        let of_values = own.clone().map(|own| own.swap_dims(2, 3));
        let key = key.swap_dims(2, 3);
        let keys = write(&mut self.layer.keys, key, 3, self.positions, own);
        let values = write(&mut self.layer.values, value, 2, self.positions, of_values);
        (keys, values, self.places.hidden.clone())
    }
}
