//! Causal attention of new tokens over cached keys and values, in place.
//!
//! Shapes: T new tokens, H query heads, K key/value heads, D the width of a head.

use pulp::{Arch, Simd, WithSimd};

use crate::{
    pointwise::{exp, rotary::rotate_head},
    reduce::{CHAINS, total},
};

const BLOCK: usize = KvRow::BLOCK;

/// Attention of the new tokens of one row to the cached tokens, to each other and to themselves. Their keys
/// and values are added to the cache.
///
/// ```text
/// out[t, h] = sum over s <= t of softmax(q[t, h] k[s, h K / H] / sqrt(D)) v[s, h K / H]
/// ```
///
/// The order of all sums depends on the position of the token alone.
pub struct CachedAttention<'a, 'b> {
    /// Queries, keys and values of the new tokens, `[T, (H + 2 K) D]`.
    pub qkv: &'a [f32],
    /// Cosines and sines that rotate queries and keys, each `[T, D / 2]`.
    pub rotation: Option<(&'a [f32], &'a [f32])>,
    /// Cached keys and values.
    pub kv: &'a mut KvRow<'b>,
    /// Count of query heads, H.
    pub heads: usize,
    /// Count of key/value heads, K.
    pub kv_heads: usize,
    /// Width of a head, D.
    pub head_dim: usize,
}

/// Keys and values of one row in one layer. The capacity is a whole number of blocks.
pub struct KvRow<'a> {
    /// Count of cached tokens.
    pub length: usize,
    /// Keys, `[K, capacity / BLOCK, D, BLOCK]`: the scores of a block are then sums of consecutive vectors.
    pub keys: &'a mut [f32],
    /// Values, `[K, capacity, D]`.
    pub values: &'a mut [f32],
}

impl KvRow<'_> {
    /// Count of tokens per block of keys: that of floats in the widest vectors.
    pub const BLOCK: usize = 16;
}

impl CachedAttention<'_, '_> {
    /// Computes the attention of all heads.
    ///
    /// # Shapes
    ///
    /// - out: `[T, H D]`
    ///
    /// # Panics
    ///
    /// If the capacity is no whole number of blocks, or has no room for the new tokens.
    pub fn run(self, out: &mut [f32]) {
        Arch::new().dispatch(Run(self, out));
    }
}

struct Run<'a, 'b, 'c>(CachedAttention<'a, 'b>, &'c mut [f32]);

impl WithSimd for Run<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(attention, out) = self;
        let CachedAttention { qkv, rotation, heads, kv_heads, head_dim, .. } = attention;
        let KvRow { length, keys, values } = attention.kv;
        let capacity = keys.len() / (kv_heads * head_dim);
        assert!(capacity.is_multiple_of(BLOCK), "a capacity of {capacity}");
        let per_head = capacity * head_dim;
        let scale = 1.0 / (head_dim as f32).sqrt();
        let half = head_dim / 2;
        let rotated = |t: usize, from: &[f32], to: &mut [f32]| {
            to.copy_from_slice(from);
            if let Some((cos, sin)) = rotation {
                let angles = t * half..(t + 1) * half;
                rotate_head(to, &cos[angles.clone()], &sin[angles], 1.0);
            }
        };
        let mut vector = vec![0.0; head_dim];
        let mut weights = vec![[0.0; BLOCK]; capacity / BLOCK];
        let tokens = qkv.chunks_exact((heads + 2 * kv_heads) * head_dim);
        let outputs = out.chunks_exact_mut(heads * head_dim);
        for (t, (token, out)) in tokens.zip(outputs).enumerate() {
            let (queries, new) = token.split_at(heads * head_dim);
            let (new_keys, new_values) = new.split_at(kv_heads * head_dim);
            let position = *length + t;
            // keys[k, position / BLOCK, d, position % BLOCK] = rotated k
            for (keys, key) in keys.chunks_exact_mut(per_head).zip(new_keys.chunks_exact(head_dim))
            {
                rotated(t, key, &mut vector);
                let block = &mut keys[position / BLOCK * BLOCK * head_dim..];
                let column = block[position % BLOCK..].iter_mut().step_by(BLOCK);
                for (to, number) in column.zip(&vector) {
                    *to = *number;
                }
            }
            // values[k, position, d] = v
            for (values, value) in
                values.chunks_exact_mut(per_head).zip(new_values.chunks_exact(head_dim))
            {
                values[position * head_dim..][..head_dim].copy_from_slice(value);
            }
            let queries = queries.chunks_exact(head_dim);
            for (h, (query, out)) in queries.zip(out.chunks_exact_mut(head_dim)).enumerate() {
                rotated(t, query, &mut vector);
                for number in &mut vector {
                    *number *= scale;
                }
                let start = h / (heads / kv_heads) * per_head;
                let keys = &keys[start..start + per_head];
                let values = &values[start..start + per_head];
                // weights[s] = exp(q k[s] - largest), over the blocks up to the token's own
                let weights = &mut weights[..=position / BLOCK];
                multiply(simd, &vector, keys, weights);
                let sum = exponentials(simd, weights, position + 1);
                // out = (sum over s of weights[s] v[s]) / sum
                let weights = &weights.as_flattened()[..=position];
                gather(simd, weights, values, 1.0 / sum, out);
            }
        }
    }
}

/// products[s] = sum over d of query[d] keys[s / BLOCK, d, s % BLOCK], for the blocks of the products.
#[inline(always)]
fn multiply<S: Simd>(simd: S, query: &[f32], keys: &[f32], products: &mut [[f32; BLOCK]]) {
    let blocks = keys.chunks_exact(BLOCK * query.len());
    for (products, keys) in products.iter_mut().zip(blocks) {
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

/// scores[s] = e^(scores[s] - largest) for s < seen, the least value of [`exp`] after them in the last block;
/// returns their sum, which is at least 1, so that those least values, 1.2e-38, do not change it.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, scores: &mut [[f32; BLOCK]], seen: usize) -> f32 {
    let seen_of_last = seen - (scores.len() - 1) * BLOCK;
    if let Some(last) = scores.last_mut() {
        // A loop over the whole block: a slice of it would go through memory.
        for (s, score) in last.iter_mut().enumerate() {
            let hidden = f32::NEG_INFINITY;
            *score = if s < seen_of_last { *score } else { hidden };
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

/// out[d] = factor (sum over s of weights[s] values[s, d]).
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
        let column =
            |c: usize| weights.iter().zip(values).map(|(w, v)| w * v[c]).sum::<f32>() / sum;
        (0..query.len()).map(column).collect()
    }

    #[test]
    fn matches_its_definition() {
        for (heads, kv_heads, head_dim, capacity) in
            [(1, 1, 2, 16), (4, 2, 32, 48), (2, 2, 6, 48), (2, 1, 70, 32)]
        {
            let columns = (heads + 2 * kv_heads) * head_dim;
            let numbers = kv_heads * head_dim * capacity;
            // Numbers after the last token must not count.
            let mut stores = [vec![1e3; 2 * numbers], vec![1e3; 2 * numbers]];
            let tokens: Vec<f32> =
                (0..capacity * columns).map(|i| ((i * i) as f32 * 0.37).sin() * 2.0).collect();
            let token = |t: usize| &tokens[t * columns..][..columns];
            let part = |t: usize, part: usize| &token(t)[part * head_dim..][..head_dim];
            // Two rows, the second one token later, three tokens and then one at a time.
            let mut cached = 0;
            while cached + 3 < capacity {
                let added = if cached == 0 { 3 } else { 1 };
                let [keys, values] = &mut stores;
                let rows = keys.chunks_mut(numbers).zip(values.chunks_mut(numbers));
                let mut out = vec![0.0; 2 * added * heads * head_dim];
                let outs = out.chunks_mut(added * heads * head_dim);
                for (row, ((keys, values), out)) in rows.zip(outs).enumerate() {
                    CachedAttention {
                        qkv: &tokens[(cached + row) * columns..][..added * columns],
                        rotation: None,
                        kv: &mut KvRow { length: cached, keys, values },
                        heads,
                        kv_heads,
                        head_dim,
                    }
                    .run(out);
                }
                cached += added;
                for (index, got) in out.chunks(head_dim).enumerate() {
                    let (row, t, head) = (
                        index / heads / added,
                        cached - added + index / heads % added,
                        index % heads,
                    );
                    let kv_head = heads + head / (heads / kv_heads);
                    let stored = |offset| -> Vec<&[f32]> {
                        (0..=t).map(|t| part(t + row, kv_head + offset)).collect()
                    };
                    let query = part(t + row, head);
                    let wanted = by_definition(query, &stored(0), &stored(kv_heads));
                    for (got, wanted) in got.iter().zip(wanted) {
                        assert!((got - wanted).abs() < 1e-4, "{head_dim}, {t}: {got} {wanted}");
                    }
                }
            }
        }
    }
}
