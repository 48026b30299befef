//! Causal attention that reads keys and values where they lie.

use pulp::{Arch, Simd, WithSimd};

use crate::{dot::add_scaled, exp::exp, log_sum_exp::highest, rotary::turn_head};

/// Numbers of the widest vectors.
const LANES: usize = 16;

/// Rows that are added at once.
const BLOCK: usize = 8;

/// Attention of new tokens to themselves, to each other and to those before them. Each row's keys
/// and values are written behind those that it holds, and read in place.
pub struct Attend<'a, 'b> {
    /// Projected tokens, `[rows, added, (heads + 2 kv_heads) x head_dim]`: queries, keys, values.
    pub projected: &'a [f32],
    /// Cosines and sines that turn queries and keys, each `[rows, added, head_dim / 2]`.
    pub rotation: Option<(&'a [f32], &'a [f32])>,
    /// What each row holds already.
    pub held: &'a mut [Held<'b>],
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

/// Tokens that a row holds, and room behind them.
pub struct Held<'a> {
    /// So many tokens.
    pub length: usize,
    /// Keys, `[kv_heads, head_dim, capacity]`: so all products with one query are sums of rows.
    pub keys: &'a mut [f32],
    /// Values, `[kv_heads, capacity, head_dim]`.
    pub values: &'a mut [f32],
}

impl Attend<'_, '_> {
    /// What the new tokens gather, `[rows, added, heads x head_dim]`.
    pub fn run(self) -> Vec<f32> {
        let columns = (self.heads + 2 * self.kv_heads) * self.head_dim;
        let width = self.heads * self.head_dim;
        let added = self.projected.len() / (self.held.len() * columns);
        let mut out = vec![0.0; self.held.len() * added * width];
        if out.is_empty() {
            return out;
        }
        let arch = Arch::new();
        let rows = self
            .held
            .iter_mut()
            .zip(out.chunks_exact_mut(added * width));
        for (index, (held, out)) in rows.enumerate() {
            let turns = added * (self.head_dim / 2);
            let turns = index * turns..(index + 1) * turns;
            arch.dispatch(Row {
                projected: &self.projected[index * added * columns..][..added * columns],
                rotation: self
                    .rotation
                    .map(|(cos, sin)| (&cos[turns.clone()], &sin[turns])),
                start: held.length,
                keys: &mut *held.keys,
                values: &mut *held.values,
                out,
                heads: self.heads,
                kv_heads: self.kv_heads,
                head_dim: self.head_dim,
            });
        }
        out
    }
}

/// The part of one row.
struct Row<'a> {
    projected: &'a [f32],
    rotation: Option<(&'a [f32], &'a [f32])>,
    start: usize,
    keys: &'a mut [f32],
    values: &'a mut [f32],
    out: &'a mut [f32],
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
}

impl WithSimd for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (heads, kv_heads, head_dim) = (self.heads, self.kv_heads, self.head_dim);
        let capacity = self.keys.len() / (kv_heads * head_dim);
        let scale = 1.0 / (head_dim as f32).sqrt();
        let half = head_dim / 2;
        let turned = |t: usize, from: &[f32], to: &mut [f32]| {
            to.copy_from_slice(from);
            if let Some((cos, sin)) = self.rotation {
                let place = t * half..(t + 1) * half;
                turn_head(to, &cos[place.clone()], &sin[place], 1.0);
            }
        };
        let mut turned_row = vec![0.0; head_dim];
        let mut weights = vec![0.0; capacity];
        let tokens = self
            .projected
            .chunks_exact((heads + 2 * kv_heads) * head_dim);
        for (t, (token, out)) in tokens
            .zip(self.out.chunks_exact_mut(heads * head_dim))
            .enumerate()
        {
            let (queries, new) = token.split_at(heads * head_dim);
            let (new_keys, new_values) = new.split_at(kv_heads * head_dim);
            let own = self.start + t;
            let keys = self.keys.chunks_exact_mut(head_dim * capacity);
            for (keys, from) in keys.zip(new_keys.chunks_exact(head_dim)) {
                turned(t, from, &mut turned_row);
                for (to, key) in keys[own..].iter_mut().step_by(capacity).zip(&turned_row) {
                    *to = *key;
                }
            }
            let values = self.values.chunks_exact_mut(capacity * head_dim);
            for (values, from) in values.zip(new_values.chunks_exact(head_dim)) {
                values[own * head_dim..][..head_dim].copy_from_slice(from);
            }
            // Whole vectors where there is room. It sees itself and all before it, so what is computed
            // for places behind is left out afterwards.
            let vectors = (own + 1).next_multiple_of(LANES).min(capacity);
            let per_query = queries
                .chunks_exact(head_dim)
                .zip(out.chunks_exact_mut(head_dim));
            for (head, (from, out)) in per_query.enumerate() {
                turned(t, from, &mut turned_row);
                let store = head / (heads / kv_heads) * capacity * head_dim;
                let seen = store..store + (own + 1) * head_dim;
                let keys = &self.keys[store..store + head_dim * capacity];
                let weights = &mut weights[..vectors];
                multiply(simd, &turned_row, scale, keys, weights);
                let weights = &mut weights[..=own];
                softmax(weights);
                gather(simd, weights, &self.values[seen], out);
            }
        }
    }
}

/// Products of a query, times `scale`, with keys that stand in columns: as many as there is room for.
#[inline(always)]
fn multiply<S: Simd>(simd: S, query: &[f32], scale: f32, keys: &[f32], products: &mut [f32]) {
    let columns = products.len();
    let capacity = keys.len() / query.len();
    products.fill(0.0);
    let (blocks, rest) = query.as_chunks::<BLOCK>();
    let (keys, rest_keys) = keys.split_at(blocks.len() * BLOCK * capacity);
    for (query, keys) in blocks.iter().zip(keys.chunks_exact(BLOCK * capacity)) {
        let mut rows: [&[f32]; BLOCK] = [&[]; BLOCK];
        for (slot, row) in rows.iter_mut().zip(keys.chunks_exact(capacity)) {
            *slot = &row[..columns];
        }
        add_scaled(simd, query.map(|value| value * scale), rows, products);
    }
    for (value, row) in rest.iter().zip(rest_keys.chunks_exact(capacity)) {
        add_scaled(simd, [value * scale], [&row[..columns]], products);
    }
}

#[inline(always)]
fn softmax(weights: &mut [f32]) {
    let highest = highest(weights);
    for weight in weights.iter_mut() {
        *weight = exp(*weight - highest);
    }
    let factor = 1.0 / weights.iter().sum::<f32>();
    for weight in weights {
        *weight *= factor;
    }
}

/// Adds the values to `out`, each times its weight.
#[inline(always)]
fn gather<S: Simd>(simd: S, weights: &[f32], values: &[f32], out: &mut [f32]) {
    let head_dim = out.len();
    let (blocks, rest) = weights.as_chunks::<BLOCK>();
    let (values, rest_values) = values.split_at(blocks.len() * BLOCK * head_dim);
    for (weights, values) in blocks.iter().zip(values.chunks_exact(BLOCK * head_dim)) {
        let mut rows: [&[f32]; BLOCK] = [&[]; BLOCK];
        for (slot, value) in rows.iter_mut().zip(values.chunks_exact(head_dim)) {
            *slot = value;
        }
        add_scaled(simd, *weights, rows, out);
    }
    for (weight, value) in rest.iter().zip(rest_values.chunks_exact(head_dim)) {
        add_scaled(simd, [*weight], [value], out);
    }
}
