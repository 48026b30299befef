//! Causal attention that reads keys and values where they lie.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::{
    dot::{add_scaled, dot},
    exp::exp,
    log_sum_exp::highest,
    rotary::turn_head,
};

/// Multiplications from which rows are shared among threads.
const WORTH_THREADS: usize = 1 << 18;

/// Attention of new tokens to themselves, to each other and to those before them. Each row's keys
/// and values are written behind those that it holds, and read in place.
pub struct Attend<'a> {
    /// Projected tokens, `[rows, added, (heads + 2 kv_heads) x head_dim]`: queries, keys, values.
    pub projected: &'a [f32],
    /// Cosines and sines that turn queries and keys, each `[1 or rows, added, head_dim / 2]`.
    pub rotation: Option<(&'a [f32], &'a [f32])>,
    /// Tokens that each row holds already.
    pub starts: &'a [usize],
    /// Keys, `[rows, kv_heads, capacity, head_dim]`.
    pub keys: &'a mut [f32],
    /// Values, `[rows, kv_heads, capacity, head_dim]`.
    pub values: &'a mut [f32],
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

impl Attend<'_> {
    /// What the new tokens gather, `[rows, added, heads x head_dim]`.
    pub fn run(self) -> Vec<f32> {
        let rows = self.starts.len();
        let columns = (self.heads + 2 * self.kv_heads) * self.head_dim;
        let width = self.heads * self.head_dim;
        let added = self.projected.len() / (rows * columns);
        let mut out = vec![0.0; rows * added * width];
        if out.is_empty() {
            return out;
        }
        let held = self.keys.len() / rows;
        let arch = Arch::new();
        let row = |index: usize, keys, values, out| {
            let turn = |table: &'_ [f32]| {
                let length = added * (self.head_dim / 2);
                let start = if table.len() == length {
                    0
                } else {
                    index * length
                };
                start..start + length
            };
            arch.dispatch(Row {
                projected: &self.projected[index * added * columns..][..added * columns],
                rotation: self
                    .rotation
                    .map(|(cos, sin)| (&cos[turn(cos)], &sin[turn(sin)])),
                start: self.starts[index],
                keys,
                values,
                out,
                heads: self.heads,
                kv_heads: self.kv_heads,
                head_dim: self.head_dim,
            });
        };
        let longest = self.starts.iter().max().map_or(0, |start| start + added);
        let keys = self.keys.chunks_exact_mut(held);
        let values = self.values.chunks_exact_mut(held);
        let parts = keys
            .zip(values)
            .zip(out.chunks_exact_mut(added * width))
            .enumerate();
        if rows * added * longest * width < WORTH_THREADS {
            parts.for_each(|(index, ((keys, values), out))| row(index, keys, values, out));
        } else {
            let parts: Vec<_> = parts.collect();
            parts
                .into_par_iter()
                .for_each(|(index, ((keys, values), out))| row(index, keys, values, out));
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
        let mut query = vec![0.0; head_dim];
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
            for head in 0..kv_heads {
                let from = head * head_dim..(head + 1) * head_dim;
                let place = (head * capacity + own) * head_dim;
                turned(
                    t,
                    &new_keys[from.clone()],
                    &mut self.keys[place..][..head_dim],
                );
                self.values[place..][..head_dim].copy_from_slice(&new_values[from]);
            }
            // It sees itself and all before it.
            let weights = &mut weights[..=own];
            let per_query = queries
                .chunks_exact(head_dim)
                .zip(out.chunks_exact_mut(head_dim));
            for (head, (from, out)) in per_query.enumerate() {
                turned(t, from, &mut query);
                let store = head / (heads / kv_heads) * capacity * head_dim;
                let seen = store..store + (own + 1) * head_dim;
                let keys = self.keys[seen.clone()].chunks_exact(head_dim);
                for (weight, key) in weights.iter_mut().zip(keys) {
                    *weight = dot(simd, &query, key) * scale;
                }
                softmax(weights);
                gather(simd, weights, &self.values[seen], out);
            }
        }
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
    let (blocks, rest) = weights.as_chunks::<4>();
    let (values, rest_values) = values.split_at(blocks.len() * 4 * head_dim);
    for (weights, values) in blocks.iter().zip(values.chunks_exact(4 * head_dim)) {
        let mut four: [&[f32]; 4] = [&[]; 4];
        for (slot, value) in four.iter_mut().zip(values.chunks_exact(head_dim)) {
            *slot = value;
        }
        add_scaled(simd, *weights, four, out);
    }
    for (weight, value) in rest.iter().zip(rest_values.chunks_exact(head_dim)) {
        add_scaled(simd, [*weight], [value], out);
    }
}
