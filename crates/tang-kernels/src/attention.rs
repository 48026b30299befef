//! Causal self-attention over packed projections, and its gradient; causal attention over a cache.
//!
//! Shapes: B texts (`batch`) of T positions (`length`), H query heads, K key/value heads, D the width of a
//! head (`head_dim`). One head of one text is computed at a time: its queries, keys, values and
//! probabilities fit in a near cache, so that nothing of the size `[B, H, T, T]` is ever written.

pub(crate) mod cached;
pub(crate) mod gradient;

use pulp::Arch;

use crate::{
    matmul::{COLUMNS, Columns, Matrix, ROWS, Rows, product, transpose},
    reduce,
    simd::vectorized,
};

/// Shape of a packed projection `[B, T, (H + 2 K) D]`: per position, the queries of all heads, then the
/// keys, then the values of all key/value heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionShape {
    /// Count of texts, B.
    pub batch: usize,
    /// Positions of each, T.
    pub length: usize,
    /// Count of query heads, H.
    pub heads: usize,
    /// Count of key/value heads, K, a divisor of `heads`.
    pub kv_heads: usize,
    /// Width of a head, D.
    pub head_dim: usize,
}

impl AttentionShape {
    /// Width of the projection, (H + 2 K) D.
    fn columns(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }

    /// Width of the output, H D.
    fn width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// 1 / sqrt(D).
    fn scale(&self) -> f32 {
        1.0 / (self.head_dim as f32).sqrt()
    }

    /// First column of query head h, its key and its value in a projection.
    fn starts(&self, h: usize) -> [usize; 3] {
        let key = (self.heads + h * self.kv_heads / self.heads) * self.head_dim;
        [h * self.head_dim, key, key + self.kv_heads * self.head_dim]
    }

    fn check(&self, projection: &[f32]) {
        assert_eq!(projection.len(), self.batch * self.length * self.columns());
        assert!(self.heads.is_multiple_of(self.kv_heads));
    }
}

/// Causal self-attention (Vaswani et al., *Attention Is All You Need*, 2017):
///
/// ```text
/// out[b, t, h] = sum over s <= t of softmax(q[b, t, h] k[b, s, h K / H] / sqrt(D)) v[b, s, h K / H]
/// ```
///
/// # Shapes
///
/// - projection: `[B, T, (H + 2 K) D]`
/// - output: `[B, T, H D]`
///
/// # Panics
///
/// If the projection has another size.
pub fn attention(projection: &[f32], shape: AttentionShape) -> Vec<f32> {
    shape.check(projection);
    let AttentionShape { length, head_dim, .. } = shape;
    let (columns, width) = (shape.columns(), shape.width());
    let arch = Arch::new();
    let mut output = vec![0.0; shape.batch * length * width];
    let mut queries_t = Matrix::new(head_dim, length);
    let mut keys_t = Matrix::new(head_dim, length);
    let mut values = Matrix::new(length, head_dim);
    let mut scores = Matrix::new(ROWS, length);
    let stride = scores.stride;
    let mut scores_t = vec![0.0; ROWS * stride];
    let mut attended = Matrix::new(ROWS, head_dim);
    vectorized!({
        let texts = projection.chunks_exact(length * columns);
        for (text, output) in texts.zip(output.chunks_exact_mut(length * width)) {
            for h in 0..shape.heads {
                let starts = shape.starts(h);
                let [query, key, value] = starts.map(|start| Columns {
                    matrix: text,
                    stride: columns,
                    start,
                    width: head_dim,
                });
                queries_t.copy_transposed(query, shape.scale());
                keys_t.copy_transposed(key, 1.0);
                values.copy(value, 1.0);
                for start in (0..length).step_by(ROWS) {
                    let seen = start + ROWS;
                    let scores = &mut scores.values[..ROWS * stride];
                    // scores[t, s] = q[t] k[s] / sqrt(D), then softmax over s <= t
                    let queries = queries_t.rows(0, head_dim, start);
                    let keys = keys_t.rows(0, head_dim, 0);
                    let columns = seen.next_multiple_of(COLUMNS);
                    product(arch, queries, keys, columns, scores, stride);
                    causal_softmax(scores, stride, start);
                    // attended[t, d] = sum over s of scores[t, s] v[s, d]
                    transpose(scores, stride, seen, &mut scores_t);
                    let probabilities = Rows { values: &scores_t[..seen * ROWS], stride: ROWS };
                    attended.set_product(arch, probabilities, values.rows(0, seen, 0));
                    let rows = output.chunks_exact_mut(width).skip(start).take(ROWS);
                    for (to, from) in rows.zip(attended.values.chunks_exact(attended.stride)) {
                        to[starts[0]..][..head_dim].copy_from_slice(&from[..head_dim]);
                    }
                }
            }
        }
    });
    output
}

/// Turns the scores of positions `start..start + ROWS` into probabilities; those of later positions
/// become 0.
#[inline(always)]
fn causal_softmax(rows: &mut [f32], stride: usize, start: usize) {
    for (r, row) in rows.chunks_exact_mut(stride).enumerate() {
        let (seen, hidden) = row.split_at_mut((start + r + 1).min(stride));
        reduce::softmax(seen, 1.0);
        hidden.fill(0.0);
    }
}
