//! Causal self-attention over packed projections, and its gradient.
//!
//! One head of one text is taken at a time: its queries, keys, values and probabilities fit in a
//! near cache, so that nothing of the size `[batch, heads, length, length]` is ever written. The
//! gradient computes the probabilities again (Dao et al., *FlashAttention*, 2022, does so, too).

use pulp::{Arch, Simd, WithSimd};

use crate::{
    exp::exp,
    lanes,
    matrix::{Matrix, transpose},
    tile::{COLUMNS, ROWS, Rows, product},
};

/// What a packed projection holds: per position, the queries of all heads, then the keys, then the
/// values of all key/value heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionShape {
    /// Texts.
    pub batch: usize,
    /// Positions of each.
    pub length: usize,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads, a divisor of `heads`.
    pub kv_heads: usize,
    /// Numbers a head.
    pub head_dim: usize,
}

impl AttentionShape {
    /// Numbers a position of the projection.
    fn columns(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }

    /// Numbers a position of the output.
    fn width(&self) -> usize {
        self.heads * self.head_dim
    }

    fn check(&self, projection: &[f32]) {
        assert_eq!(projection.len(), self.batch * self.length * self.columns());
        assert!(self.heads.is_multiple_of(self.kv_heads));
    }
}

/// softmax(q k^T / sqrt(head_dim)) v for each head, each position seeing itself and those before
/// it (Vaswani et al., *Attention Is All You Need*, 2017).
///
/// # Shapes
///
/// - projection: `[batch, length, (heads + 2 kv_heads) x head_dim]`
/// - output: `[batch, length, heads x head_dim]`
///
/// # Panics
///
/// If the projection has another size.
pub fn attention(projection: &[f32], shape: AttentionShape) -> Vec<f32> {
    shape.check(projection);
    let mut output = vec![0.0; shape.batch * shape.length * shape.width()];
    Arch::new().dispatch(Forward {
        shape,
        projection,
        output: &mut output,
    });
    output
}

/// The gradient of the projection, given that of what [`attention`] gave.
///
/// # Panics
///
/// If a size does not fit.
pub fn attention_gradient(projection: &[f32], gradient: &[f32], shape: AttentionShape) -> Vec<f32> {
    shape.check(projection);
    assert_eq!(gradient.len(), shape.batch * shape.length * shape.width());
    let mut result = vec![0.0; projection.len()];
    Arch::new().dispatch(Gradient {
        shape,
        projection,
        gradient,
        result: &mut result,
    });
    result
}

/// The probabilities of rows `start..start + ROWS`, in place of their scores; what a row does not
/// see becomes 0.
#[inline(always)]
fn softmax(rows: &mut [f32], stride: usize, start: usize) {
    for (r, row) in rows.chunks_exact_mut(stride).enumerate() {
        let (seen, hidden) = row.split_at_mut((start + r + 1).min(stride));
        let max = lanes::max(seen);
        for x in seen.iter_mut() {
            *x = exp(*x - max);
        }
        let factor = 1.0 / lanes::sum(seen);
        for x in seen {
            *x *= factor;
        }
        hidden.fill(0.0);
    }
}

struct Forward<'a> {
    shape: AttentionShape,
    projection: &'a [f32],
    output: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let shape = self.shape;
        let AttentionShape {
            length, head_dim, ..
        } = shape;
        let (columns, width) = (shape.columns(), shape.width());
        let scale = 1.0 / (head_dim as f32).sqrt();
        let mut queries = Matrix::new(head_dim, length);
        let mut keys = Matrix::new(head_dim, length);
        let mut values = Matrix::new(length, head_dim);
        let mut scores = Matrix::new(ROWS, length);
        let mut left = vec![0.0; ROWS * scores.stride];
        let mut attended = Matrix::new(ROWS, head_dim);
        let texts = self.projection.chunks_exact(length * columns);
        for (text, output) in texts.zip(self.output.chunks_exact_mut(length * width)) {
            for head in 0..shape.heads {
                let kv = head * shape.kv_heads / shape.heads;
                let key = (shape.heads + kv) * head_dim;
                let value = key + shape.kv_heads * head_dim;
                queries.take_transposed(text, columns, head * head_dim, head_dim, scale);
                keys.take_transposed(text, columns, key, head_dim, 1.0);
                values.take(text, columns, value, head_dim, 1.0);
                for start in (0..length).step_by(ROWS) {
                    let seen = (start + ROWS).next_multiple_of(COLUMNS);
                    let block = &mut scores.values[..ROWS * scores.stride];
                    product(
                        simd,
                        queries.rows(0, head_dim, start),
                        keys.rows(0, head_dim, 0),
                        seen,
                        block,
                        scores.stride,
                    );
                    softmax(block, scores.stride, start);
                    transpose(block, scores.stride, start + ROWS, &mut left);
                    product(
                        simd,
                        Rows {
                            values: &left[..(start + ROWS) * ROWS],
                            stride: ROWS,
                        },
                        values.rows(0, start + ROWS, 0),
                        values.stride,
                        &mut attended.values,
                        attended.stride,
                    );
                    let rows = output.chunks_exact_mut(width).skip(start).take(ROWS);
                    for (to, from) in rows.zip(attended.values.chunks_exact(attended.stride)) {
                        to[head * head_dim..][..head_dim].copy_from_slice(&from[..head_dim]);
                    }
                }
            }
        }
    }
}

struct Gradient<'a> {
    shape: AttentionShape,
    projection: &'a [f32],
    gradient: &'a [f32],
    result: &'a mut [f32],
}

impl WithSimd for Gradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let shape = self.shape;
        let AttentionShape {
            length, head_dim, ..
        } = shape;
        let (columns, width) = (shape.columns(), shape.width());
        let scale = 1.0 / (head_dim as f32).sqrt();
        // Transposed: [head_dim, length].
        let mut queries_t = Matrix::new(head_dim, length);
        let mut keys_t = Matrix::new(head_dim, length);
        let mut values_t = Matrix::new(head_dim, length);
        let mut outer_t = Matrix::new(head_dim, length);
        let mut queries = Matrix::new(length, head_dim);
        let mut keys = Matrix::new(length, head_dim);
        // Gradient of the output.
        let mut outer = Matrix::new(length, head_dim);
        let mut probabilities = Matrix::new(length, length);
        // Gradients of the probabilities, then of the scores.
        let mut errors = Matrix::new(length, length);
        let mut left = vec![0.0; ROWS * errors.stride];
        let mut sums = Matrix::new(ROWS, head_dim);
        let texts = self
            .projection
            .chunks_exact(length * columns)
            .zip(self.gradient.chunks_exact(length * width));
        for ((text, gradient), result) in texts.zip(self.result.chunks_exact_mut(length * columns))
        {
            let mut add = |start: usize, offset: usize, sums: &Matrix| {
                let rows = result.chunks_exact_mut(columns).skip(start).take(ROWS);
                for (to, from) in rows.zip(sums.values.chunks_exact(sums.stride)) {
                    for (to, from) in to[offset..][..head_dim].iter_mut().zip(from) {
                        *to += from;
                    }
                }
            };
            for head in 0..shape.heads {
                let kv = head * shape.kv_heads / shape.heads;
                let query = head * head_dim;
                let key = (shape.heads + kv) * head_dim;
                let value = key + shape.kv_heads * head_dim;
                queries_t.take_transposed(text, columns, query, head_dim, scale);
                keys_t.take_transposed(text, columns, key, head_dim, 1.0);
                values_t.take_transposed(text, columns, value, head_dim, 1.0);
                outer_t.take_transposed(gradient, width, query, head_dim, 1.0);
                queries.take(text, columns, query, head_dim, scale);
                keys.take(text, columns, key, head_dim, scale);
                outer.take(gradient, width, query, head_dim, 1.0);
                for start in (0..length).step_by(ROWS) {
                    let seen = (start + ROWS).next_multiple_of(COLUMNS);
                    let stride = probabilities.stride;
                    let block = start * stride..(start + ROWS) * stride;
                    let block_p = &mut probabilities.values[block.clone()];
                    let left_q = queries_t.rows(0, head_dim, start);
                    product(
                        simd,
                        left_q,
                        keys_t.rows(0, head_dim, 0),
                        seen,
                        block_p,
                        stride,
                    );
                    softmax(block_p, stride, start);
                    let block_e = &mut errors.values[block];
                    let left_o = outer_t.rows(0, head_dim, start);
                    product(
                        simd,
                        left_o,
                        values_t.rows(0, head_dim, 0),
                        seen,
                        block_e,
                        stride,
                    );
                    // d score = p (d p - sum of p d p)
                    let pairs = block_e.chunks_exact_mut(stride);
                    for (e, p) in pairs.zip(block_p.chunks_exact(stride)) {
                        let (e, p) = (&mut e[..seen], &p[..seen]);
                        let mean = lanes::sum_of(e, p, |e, p| e * p);
                        for (e, p) in e.iter_mut().zip(p) {
                            *e = p * (*e - mean);
                        }
                    }
                    transpose(block_e, stride, start + ROWS, &mut left);
                    let left = Rows {
                        values: &left[..(start + ROWS) * ROWS],
                        stride: ROWS,
                    };
                    let right = keys.rows(0, start + ROWS, 0);
                    product(
                        simd,
                        left,
                        right,
                        sums.stride,
                        &mut sums.values,
                        keys.stride,
                    );
                    add(start, query, &sums);
                }
                for start in (0..length).step_by(ROWS) {
                    // Earlier rows do not see these keys.
                    let rows = length - start;
                    for (weights, right, offset) in
                        [(&errors, &queries, key), (&probabilities, &outer, value)]
                    {
                        let left = weights.rows(start, rows, start);
                        let right = right.rows(start, rows, 0);
                        product(
                            simd,
                            left,
                            right,
                            sums.stride,
                            &mut sums.values,
                            keys.stride,
                        );
                        add(start, offset, &sums);
                    }
                }
            }
        }
    }
}
