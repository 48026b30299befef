//! Causal self-attention over packed projections.
//!
//! One head of one text is taken at a time: its queries, keys, values and probabilities fit in a
//! near cache, so that nothing of the size `[batch, heads, length, length]` is ever written.

use pulp::{Arch, Simd, WithSimd};

use crate::{
    matmul::{
        matrix::{Matrix, transpose},
        tile::{COLUMNS, ROWS, Rows, product},
    },
    pointwise::exp::exp,
    reduce::lanes,
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
    pub(crate) fn columns(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }

    /// Numbers a position of the output.
    pub(crate) fn width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// What scores are multiplied by.
    pub(crate) fn scale(&self) -> f32 {
        1.0 / (self.head_dim as f32).sqrt()
    }

    /// Where a query head stands in a position of the projection.
    pub(crate) fn place(&self, head: usize) -> HeadPlace {
        let kv_head = head * self.kv_heads / self.heads;
        let key = (self.heads + kv_head) * self.head_dim;
        HeadPlace {
            query: head * self.head_dim,
            key,
            value: key + self.kv_heads * self.head_dim,
        }
    }

    pub(crate) fn check(&self, projection: &[f32]) {
        assert_eq!(projection.len(), self.batch * self.length * self.columns());
        assert!(self.heads.is_multiple_of(self.kv_heads));
    }
}

/// The columns of a projection from which on a head has its numbers. The query's is that of the output,
/// too.
#[derive(Clone, Copy)]
pub(crate) struct HeadPlace {
    pub query: usize,
    pub key: usize,
    pub value: usize,
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

/// The probabilities of rows `start..start + ROWS`, in place of their scores; what a row does not
/// see becomes 0.
#[inline(always)]
pub(crate) fn softmax(rows: &mut [f32], stride: usize, start: usize) {
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
        let mut queries = Matrix::new(head_dim, length);
        let mut keys = Matrix::new(head_dim, length);
        let mut values = Matrix::new(length, head_dim);
        let mut scores = Matrix::new(ROWS, length);
        let mut left = vec![0.0; ROWS * scores.stride];
        let mut attended = Matrix::new(ROWS, head_dim);
        let texts = self.projection.chunks_exact(length * columns);
        for (text, output) in texts.zip(self.output.chunks_exact_mut(length * width)) {
            for head in 0..shape.heads {
                let place = shape.place(head);
                queries.take_transposed(text, columns, place.query, head_dim, shape.scale());
                keys.take_transposed(text, columns, place.key, head_dim, 1.0);
                values.take(text, columns, place.value, head_dim, 1.0);
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
                    let probabilities = Rows {
                        values: &left[..(start + ROWS) * ROWS],
                        stride: ROWS,
                    };
                    attended.set_product(simd, probabilities, values.rows(0, start + ROWS, 0));
                    let rows = output.chunks_exact_mut(width).skip(start).take(ROWS);
                    for (to, from) in rows.zip(attended.values.chunks_exact(attended.stride)) {
                        to[place.query..][..head_dim].copy_from_slice(&from[..head_dim]);
                    }
                }
            }
        }
    }
}
