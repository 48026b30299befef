//! Causal attention that reads keys and values where they lie.

use pulp::{Arch, Simd, WithSimd};

use crate::{exp::exp, rotary::turn_head};

/// Sums that are added up apart from each other, since each waits for the one before it.
const CHAINS: usize = 4;

const BLOCK: usize = Attend::BLOCK;

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
    /// Keys, `[kv_heads, capacity / BLOCK, head_dim, BLOCK]`, the last block as wide as the capacity leaves
    /// it: so products with one query are sums of vectors that lie one after the other.
    pub keys: &'a mut [f32],
    /// Values, `[kv_heads, capacity, head_dim]`.
    pub values: &'a mut [f32],
}

impl Attend<'_, '_> {
    /// Places whose keys lie together: as many as the widest vectors have numbers.
    pub const BLOCK: usize = 16;

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
        let mut weights = vec![[0.0; BLOCK]; capacity.div_ceil(BLOCK)];
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
                write_key(keys, own, &turned_row);
            }
            let values = self.values.chunks_exact_mut(capacity * head_dim);
            for (values, from) in values.zip(new_values.chunks_exact(head_dim)) {
                values[own * head_dim..][..head_dim].copy_from_slice(from);
            }
            let per_query = queries
                .chunks_exact(head_dim)
                .zip(out.chunks_exact_mut(head_dim));
            for (head, (from, out)) in per_query.enumerate() {
                turned(t, from, &mut turned_row);
                for value in &mut turned_row {
                    *value *= scale;
                }
                let kv_head = head / (heads / kv_heads);
                let store = kv_head * capacity * head_dim..(kv_head + 1) * capacity * head_dim;
                let weights = &mut weights[..=own / BLOCK];
                multiply(simd, &turned_row, &self.keys[store.clone()], weights);
                // It sees itself and all before it.
                let sum = exponentials(simd, weights, own + 1);
                let weights = &weights.as_flattened()[..=own];
                gather(simd, weights, &self.values[store], 1.0 / sum, out);
            }
        }
    }
}

/// Writes a key, `[head_dim]`, at a place among the keys of its head.
#[inline(always)]
fn write_key(keys: &mut [f32], place: usize, key: &[f32]) {
    let capacity = keys.len() / key.len();
    let first = place / BLOCK * BLOCK;
    let width = BLOCK.min(capacity - first);
    // Block b begins at b x BLOCK x head_dim, and has its numbers as [head_dim, width].
    let block = &mut keys[first * key.len()..][..width * key.len()];
    let column = block[place - first..].iter_mut().step_by(width);
    for (to, number) in column.zip(key) {
        *to = *number;
    }
}

/// Products of a query with keys, as many blocks as there is room for.
#[inline(always)]
fn multiply<S: Simd>(simd: S, query: &[f32], keys: &[f32], products: &mut [[f32; BLOCK]]) {
    for (products, keys) in products.iter_mut().zip(keys.chunks(BLOCK * query.len())) {
        if keys.len() < BLOCK * query.len() {
            *products = narrow_block(query, keys);
            continue;
        }
        let (products, _) = S::as_mut_simd_f32s(products);
        let (keys, _) = S::as_simd_f32s(keys);
        let vectors = products.len();
        let (quads, rest) = query.as_chunks::<CHAINS>();
        let (keys, rest_keys) = keys.split_at(quads.len() * CHAINS * vectors);
        for (vector, product) in products.iter_mut().enumerate() {
            let mut sums = [simd.splat_f32s(0.0); CHAINS];
            for (quad, keys) in quads.iter().zip(keys.chunks_exact(CHAINS * vectors)) {
                for chain in 0..CHAINS {
                    let (value, key) = (quad[chain], keys[chain * vectors + vector]);
                    sums[chain] = simd.mul_add_e_f32s(simd.splat_f32s(value), key, sums[chain]);
                }
            }
            for (value, keys) in rest.iter().zip(rest_keys.chunks_exact(vectors)) {
                sums[0] = simd.mul_add_e_f32s(simd.splat_f32s(*value), keys[vector], sums[0]);
            }
            *product = total(simd, sums);
        }
    }
}

/// The last block of a capacity that is no multiple of the others' width.
#[inline(always)]
fn narrow_block(query: &[f32], keys: &[f32]) -> [f32; BLOCK] {
    let mut products = [0.0; BLOCK];
    for (value, keys) in query
        .iter()
        .zip(keys.chunks_exact(keys.len() / query.len()))
    {
        for (product, key) in products.iter_mut().zip(keys) {
            *product += value * key;
        }
    }
    products
}

#[inline(always)]
fn total<S: Simd>(simd: S, [first, second, third, fourth]: [S::f32s; CHAINS]) -> S::f32s {
    simd.add_f32s(simd.add_f32s(first, second), simd.add_f32s(third, fourth))
}

/// Turns scores into weights, whose sum it gives. In the last block, those from place `seen` on count for
/// nothing.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, scores: &mut [[f32; BLOCK]], seen: usize) -> f32 {
    let behind = seen - (scores.len() - 1) * BLOCK;
    if let Some(last) = scores.last_mut() {
        // All of them, and no slice, which would go through memory.
        for (place, score) in last.iter_mut().enumerate() {
            let nothing = f32::NEG_INFINITY;
            *score = if place < behind { *score } else { nothing };
        }
    }
    let mut highest = simd.splat_f32s(f32::NEG_INFINITY);
    for vector in S::as_simd_f32s(scores.as_flattened()).0 {
        highest = simd.max_f32s(*vector, highest);
    }
    let highest = simd.reduce_max_f32s(highest);
    let mut sum = simd.splat_f32s(0.0);
    for block in scores {
        for score in block.iter_mut() {
            *score = exp(*score - highest);
        }
        for vector in S::as_simd_f32s(block).0 {
            sum = simd.add_f32s(sum, *vector);
        }
    }
    simd.reduce_sum_f32s(sum)
}

/// The sum of the values, each times its weight, times `factor`.
#[inline(always)]
fn gather<S: Simd>(simd: S, weights: &[f32], values: &[f32], factor: f32, out: &mut [f32]) {
    let head_dim = out.len();
    let width = 2 * S::F32_LANES;
    let (quads, rest) = weights.as_chunks::<CHAINS>();
    let (values, rest_values) = values.split_at(quads.len() * CHAINS * head_dim);
    let end = head_dim / width * width;
    for column in (0..end).step_by(width) {
        let mut sums = [[simd.splat_f32s(0.0); CHAINS]; 2];
        for (quad, values) in quads.iter().zip(values.chunks_exact(CHAINS * head_dim)) {
            for chain in 0..CHAINS {
                let values = &values[chain * head_dim + column..][..width];
                let (values, _) = S::as_simd_f32s(values);
                let weight = simd.splat_f32s(quad[chain]);
                for (sums, value) in sums.iter_mut().zip(values) {
                    sums[chain] = simd.mul_add_e_f32s(weight, *value, sums[chain]);
                }
            }
        }
        for (weight, values) in rest.iter().zip(rest_values.chunks_exact(head_dim)) {
            let (values, _) = S::as_simd_f32s(&values[column..][..width]);
            let weight = simd.splat_f32s(*weight);
            for (sums, value) in sums.iter_mut().zip(values) {
                sums[0] = simd.mul_add_e_f32s(weight, *value, sums[0]);
            }
        }
        let (out, _) = S::as_mut_simd_f32s(&mut out[column..][..width]);
        for (out, sums) in out.iter_mut().zip(sums) {
            *out = simd.mul_f32s(total(simd, sums), simd.splat_f32s(factor));
        }
    }
    out[end..].fill(0.0);
    for (weights, values) in [(quads.as_flattened(), values), (rest, rest_values)] {
        for (weight, values) in weights.iter().zip(values.chunks_exact(head_dim)) {
            for (out, value) in out[end..].iter_mut().zip(&values[end..]) {
                *out += factor * weight * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Softmax of the products with all keys, times the values.
    fn by_definition(query: &[f32], keys: &[&[f32]], values: &[&[f32]]) -> Vec<f32> {
        let dot = |key: &&[f32]| -> f32 { key.iter().zip(query).map(|(a, b)| a * b).sum() };
        let scale = 1.0 / (query.len() as f32).sqrt();
        let weights: Vec<f32> = keys.iter().map(|key| (dot(key) * scale).exp()).collect();
        let sum: f32 = weights.iter().sum();
        let column = |c: usize| {
            weights
                .iter()
                .zip(values)
                .map(|(w, v)| w * v[c])
                .sum::<f32>()
                / sum
        };
        (0..query.len()).map(column).collect()
    }

    #[test]
    fn matches_its_definition() {
        for (heads, kv_heads, head_dim, capacity) in
            [(1, 1, 2, 5), (4, 2, 32, 48), (2, 2, 6, 41), (2, 1, 70, 18)]
        {
            let columns = (heads + 2 * kv_heads) * head_dim;
            let numbers = kv_heads * head_dim * capacity;
            // What stands behind the last token must not count.
            let mut stores = [vec![1e3; 2 * numbers], vec![1e3; 2 * numbers]];
            let tokens: Vec<f32> = (0..capacity * columns)
                .map(|i| ((i * i) as f32 * 0.37).sin() * 2.0)
                .collect();
            let token = |t: usize| &tokens[t * columns..][..columns];
            let part = |t: usize, part: usize| &token(t)[part * head_dim..][..head_dim];
            // Two rows, the second one a token behind, three tokens and then one at a time.
            let mut held = 0;
            while held + 3 < capacity {
                let added = if held == 0 { 3 } else { 1 };
                let projected = [
                    &tokens[held * columns..][..added * columns],
                    &tokens[(held + 1) * columns..][..added * columns],
                ]
                .concat();
                let [keys, values] = &mut stores;
                let rows = keys.chunks_mut(numbers).zip(values.chunks_mut(numbers));
                let mut rows: Vec<Held> = rows
                    .map(|(keys, values)| Held {
                        length: held,
                        keys,
                        values,
                    })
                    .collect();
                let out = Attend {
                    projected: &projected,
                    rotation: None,
                    held: &mut rows,
                    heads,
                    kv_heads,
                    head_dim,
                }
                .run();
                held += added;
                for (index, got) in out.chunks(head_dim).enumerate() {
                    let (row, t, head) = (
                        index / heads / added,
                        held - added + index / heads % added,
                        index % heads,
                    );
                    let kv_head = heads + head / (heads / kv_heads);
                    let stored = |offset| -> Vec<&[f32]> {
                        (0..=t).map(|t| part(t + row, kv_head + offset)).collect()
                    };
                    let query = part(t + row, head);
                    let wanted = by_definition(query, &stored(0), &stored(kv_heads));
                    for (got, wanted) in got.iter().zip(wanted) {
                        assert!(
                            (got - wanted).abs() < 1e-4,
                            "{head_dim}, {t}: {got} {wanted}"
                        );
                    }
                }
            }
        }
    }
}
