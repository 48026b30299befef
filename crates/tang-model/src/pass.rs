//! Rows of a batch on their way through the layers, where kernels compute.

use tang_kernels::{Attend, Exchange, Held, add_to_rows};

use crate::{ready_blocks::Parts, side::Side};

/// Tokens from which each thread takes some rows through all layers. Of fewer, each thread takes all
/// rows through one side of the layers: so each weight is read once.
const WORTH_PARTS: usize = 12;

/// Rounds of an exchange that a block needs.
pub(crate) const EXCHANGES: usize = 2;

/// One layer's keys and values.
pub(crate) struct Store<'a> {
    /// `[rows, kv_heads, head_dim, capacity]`, in blocks of places as [`Attend`] has them.
    pub(crate) keys: &'a mut [f32],
    /// `[rows, kv_heads, capacity, head_dim]`
    pub(crate) values: &'a mut [f32],
}

/// New tokens of some rows, and all that one side of a layer needs of them.
pub(crate) struct Pass<'a> {
    /// Which part of each layer.
    pub(crate) side: Side,
    /// The residual stream, `[rows, length, width]`.
    pub(crate) stream: Vec<f32>,
    /// Tokens of each row, `[rows, length]`.
    pub(crate) ids: &'a [usize],
    /// Tokens that each row holds already.
    pub(crate) starts: &'a [usize],
    /// Cosines and sines of rotary positions, each `[rows, length, head_dim / 2]`.
    pub(crate) rotation: Option<(Vec<f32>, Vec<f32>)>,
    /// What the rows hold of the heads of this side, `[layers, rows]`; empty if nothing is kept.
    held: Vec<Held<'a>>,
}

/// New tokens of a batch, cut into passes.
pub(crate) enum Passes<'a> {
    /// All rows, one side of the layers each.
    Sides(Box<[Pass<'a>; 2]>),
    /// All of the layers, some rows each: one pass a thread.
    Parts(Vec<Pass<'a>>),
}

impl<'a> Passes<'a> {
    /// # Shapes
    ///
    /// - ids: `[rows, length]`
    pub(crate) fn of(
        ids: &'a [usize],
        starts: &'a [usize],
        stores: Vec<Store<'a>>,
        kv_heads: usize,
    ) -> Self {
        let rows = starts.len();
        if rows == 1 || ids.len() < WORTH_PARTS {
            let mut sides = Box::new(Side::TWO.map(|side| Pass::new(side, ids, starts)));
            let [first, second] = &mut *sides;
            let heads = first.side.part(kv_heads, 1).len();
            for Store { keys, values } in stores {
                let row = keys.len() / rows;
                let middle = row / kv_heads * heads;
                let each = keys.chunks_exact_mut(row).zip(values.chunks_exact_mut(row));
                for ((keys, values), length) in each.zip(starts) {
                    let (first_keys, second_keys) = keys.split_at_mut(middle);
                    let (first_values, second_values) = values.split_at_mut(middle);
                    first.hold(*length, first_keys, first_values);
                    second.hold(*length, second_keys, second_values);
                }
            }
            return Self::Sides(sides);
        }
        let per_part = rows.div_ceil(rayon::current_num_threads().min(rows));
        let mut parts: Vec<Pass> = ids
            .chunks(per_part * (ids.len() / rows))
            .zip(starts.chunks(per_part))
            .map(|(ids, starts)| Pass::new(Side::WHOLE, ids, starts))
            .collect();
        for Store { keys, values } in stores {
            let row = keys.len() / rows;
            let each = keys.chunks_exact_mut(row).zip(values.chunks_exact_mut(row));
            for (index, (keys, values)) in each.enumerate() {
                parts[index / per_part].hold(starts[index], keys, values);
            }
        }
        Self::Parts(parts)
    }
}

impl<'a> Pass<'a> {
    fn new(side: Side, ids: &'a [usize], starts: &'a [usize]) -> Self {
        Self {
            side,
            stream: Vec::new(),
            ids,
            starts,
            rotation: None,
            held: Vec::new(),
        }
    }

    fn hold(&mut self, length: usize, keys: &'a mut [f32], values: &'a mut [f32]) {
        self.held.push(Held {
            length,
            keys,
            values,
        });
    }

    /// New tokens of each row.
    pub(crate) fn length(&self) -> usize {
        self.ids.len() / self.starts.len()
    }

    /// Attention of a layer with the heads of this side, whose keys and values are kept where there is
    /// room for them.
    ///
    /// # Shapes
    ///
    /// - projected: `[rows, length, (heads + 2 kv_heads) x head_dim]`: queries, keys and values
    /// - output: `[rows, length, heads x head_dim]`
    pub(crate) fn attend(
        &mut self,
        layer: usize,
        projected: &[f32],
        [heads, kv_heads]: [usize; 2],
    ) -> Vec<f32> {
        let head_dim = projected.len() / self.ids.len() / (heads + 2 * kv_heads);
        let rotation = self.rotation.as_ref();
        let attend = |held: &mut [Held<'_>]| {
            Attend {
                projected,
                rotation: rotation.map(|(cos, sin)| (cos.as_slice(), sin.as_slice())),
                held,
                heads,
                kv_heads,
                head_dim,
            }
            .run()
        };
        let rows = self.starts.len();
        if !self.held.is_empty() {
            return attend(&mut self.held[layer * rows..][..rows]);
        }
        let places = self.length().next_multiple_of(Attend::BLOCK);
        let numbers = places * kv_heads * head_dim;
        let mut keys = vec![0.0; rows * numbers];
        let mut values = keys.clone();
        let each = keys
            .chunks_exact_mut(numbers)
            .zip(values.chunks_exact_mut(numbers));
        let mut held: Vec<Held> = each
            .map(|(keys, values)| Held {
                length: 0,
                keys,
                values,
            })
            .collect();
        attend(&mut held)
    }
}

/// Takes some sides through all layers. What all sides make of a layer is added to the stream of each,
/// always in the order of the sides: so it rounds the same, whoever computes.
///
/// # Shapes
///
/// - parts: `[layers, sides]`
pub(crate) fn run(passes: &mut [Pass<'_>], parts: &Parts, exchange: &Exchange) {
    for (layer, parts) in parts.iter().enumerate() {
        let round = layer * EXCHANGES;
        for pass in &mut *passes {
            let attention = &parts[pass.side.index].attention;
            let sum = attention.as_ref().map(|part| part.run(pass, layer));
            exchange.give(round, pass.side.index, sum.unwrap_or_default());
        }
        add_sides(passes, exchange, round);
        for pass in &mut *passes {
            let feed_forward = &parts[pass.side.index].feed_forward;
            let sum = feed_forward.as_ref().map(|part| part.run(pass));
            exchange.give(round + 1, pass.side.index, sum.unwrap_or_default());
        }
        add_sides(passes, exchange, round + 1);
    }
}

fn add_sides(passes: &mut [Pass<'_>], exchange: &Exchange, round: usize) {
    for pass in passes {
        for side in 0..pass.side.count {
            let part = exchange.given(round, side);
            if !part.is_empty() {
                add_to_rows(&mut pass.stream, part);
            }
        }
    }
}
