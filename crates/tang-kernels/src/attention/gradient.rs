//! The gradient of causal self-attention, for one head of one text at a time.
//!
//! The probabilities are computed again (Dao et al., *FlashAttention*, 2022, does so, too).

use pulp::Arch;

use super::{AttentionShape, causal_softmax};
use crate::{
    matmul::{COLUMNS, Columns, Matrix, ROWS, Rows, product, transpose},
    reduce::sum_of,
    simd::vectorized,
};

/// Turns the gradient of the output of [`attention`](crate::attention) into that of its projection.
///
/// For each head, with p the probabilities and dy the gradient of the output:
///
/// ```text
/// dp[t, s] = sum over d of dy[t, d] v[s, d]
/// ds[t, s] = p[t, s] (dp[t, s] - sum over s of p[t, s] dp[t, s])
/// dq[t, d] = sum over s <= t of ds[t, s] k[s, d] / sqrt(D)
/// dk[s, d] = sum over t >= s of ds[t, s] q[t, d] / sqrt(D)
/// dv[s, d] = sum over t >= s of p[t, s] dy[t, d]
/// ```
///
/// # Panics
///
/// If a size does not fit.
pub fn attention_gradient(projection: &[f32], gradient: &[f32], shape: AttentionShape) -> Vec<f32> {
    shape.check(projection);
    assert_eq!(gradient.len(), shape.batch * shape.length * shape.width());
    let mut result = vec![0.0; projection.len()];
    let mut head = Head::new(shape);
    vectorized!({
        let (text, output) = (shape.length * shape.columns(), shape.length * shape.width());
        let inputs = projection.chunks_exact(text).zip(gradient.chunks_exact(output));
        for ((projection, gradient), result) in inputs.zip(result.chunks_exact_mut(text)) {
            for h in 0..shape.heads {
                head.copy(projection, gradient, h);
                let [query, key, value] = shape.starts(h);
                for start in (0..shape.length).step_by(ROWS) {
                    head.set_score_gradients(start);
                    head.set_query_gradients(start);
                    head.add_to(result, start, query);
                }
                for start in (0..shape.length).step_by(ROWS) {
                    head.set_key_gradients(start);
                    head.add_to(result, start, key);
                    head.set_value_gradients(start);
                    head.add_to(result, start, value);
                }
            }
        }
    });
    result
}

/// Matrices of one head: `[T, D]`, or `[D, T]` if the name ends with `_t`.
struct Head {
    arch: Arch,
    shape: AttentionShape,
    /// q / sqrt(D).
    queries: Matrix,
    queries_t: Matrix,
    /// k / sqrt(D).
    keys: Matrix,
    /// Keys without a factor.
    keys_t: Matrix,
    values_t: Matrix,
    /// dy.
    outer: Matrix,
    outer_t: Matrix,
    /// p, `[T, T]`.
    probabilities: Matrix,
    /// ds, `[T, T]`.
    score_gradients: Matrix,
    /// ds of [`ROWS`] queries, `[T, ROWS]`.
    score_gradients_t: Vec<f32>,
    /// Gradients of [`ROWS`] queries, keys or values, `[ROWS, D]`.
    sums: Matrix,
}

impl Head {
    fn new(shape: AttentionShape) -> Self {
        let AttentionShape { length, head_dim, .. } = shape;
        let tall = || Matrix::new(length, head_dim);
        let wide = || Matrix::new(head_dim, length);
        let score_gradients = Matrix::new(length, length);
        Self {
            arch: Arch::new(),
            shape,
            queries: tall(),
            queries_t: wide(),
            keys: tall(),
            keys_t: wide(),
            values_t: wide(),
            outer: tall(),
            outer_t: wide(),
            probabilities: Matrix::new(length, length),
            score_gradients_t: vec![0.0; ROWS * score_gradients.stride],
            score_gradients,
            sums: Matrix::new(ROWS, head_dim),
        }
    }

    /// Copies head h of a text.
    #[inline(always)]
    fn copy(&mut self, projection: &[f32], gradient: &[f32], h: usize) {
        let (shape, scale) = (self.shape, self.shape.scale());
        let starts = shape.starts(h);
        let [query, key, value] = starts.map(|start| Columns {
            matrix: projection,
            stride: shape.columns(),
            start,
            width: shape.head_dim,
        });
        let outer = Columns { matrix: gradient, stride: shape.width(), ..query };
        self.queries.copy(query, scale);
        self.queries_t.copy_transposed(query, scale);
        self.keys.copy(key, scale);
        self.keys_t.copy_transposed(key, 1.0);
        self.values_t.copy_transposed(value, 1.0);
        self.outer.copy(outer, 1.0);
        self.outer_t.copy_transposed(outer, 1.0);
    }

    /// p and ds of the queries `start..start + ROWS`.
    #[inline(always)]
    fn set_score_gradients(&mut self, start: usize) {
        let (arch, head_dim) = (self.arch, self.shape.head_dim);
        let seen = (start + ROWS).next_multiple_of(COLUMNS);
        let stride = self.score_gradients.stride;
        let block = start * stride..(start + ROWS) * stride;
        let probabilities = &mut self.probabilities.values[block.clone()];
        let queries = self.queries_t.rows(0, head_dim, start);
        let keys = self.keys_t.rows(0, head_dim, 0);
        product(arch, queries, keys, seen, probabilities, stride);
        causal_softmax(probabilities, stride, start);
        let gradients = &mut self.score_gradients.values[block];
        let outer = self.outer_t.rows(0, head_dim, start);
        let values = self.values_t.rows(0, head_dim, 0);
        product(arch, outer, values, seen, gradients, stride);
        // dp becomes ds
        let rows = gradients.chunks_exact_mut(stride);
        for (gradients, p) in rows.zip(probabilities.chunks_exact(stride)) {
            let (gradients, p) = (&mut gradients[..seen], &p[..seen]);
            let mean = sum_of(gradients, p, |dp, p| dp * p);
            for (gradient, p) in gradients.iter_mut().zip(p) {
                *gradient = p * (*gradient - mean);
            }
        }
    }

    /// dq of the queries `start..start + ROWS`, which see no later keys.
    #[inline(always)]
    fn set_query_gradients(&mut self, start: usize) {
        let (seen, stride) = (start + ROWS, self.score_gradients.stride);
        let gradients = &self.score_gradients.values[start * stride..seen * stride];
        transpose(gradients, stride, seen, &mut self.score_gradients_t);
        let gradients = Rows { values: &self.score_gradients_t[..seen * ROWS], stride: ROWS };
        let keys = self.keys.rows(0, seen, 0);
        self.sums.set_product(self.arch, gradients, keys);
    }

    /// dk of the keys `start..start + ROWS`, which no earlier queries see.
    #[inline(always)]
    fn set_key_gradients(&mut self, start: usize) {
        let rows = self.shape.length - start;
        let gradients = self.score_gradients.rows(start, rows, start);
        let queries = self.queries.rows(start, rows, 0);
        self.sums.set_product(self.arch, gradients, queries);
    }

    /// dv of the values `start..start + ROWS`, which no earlier queries see.
    #[inline(always)]
    fn set_value_gradients(&mut self, start: usize) {
        let rows = self.shape.length - start;
        let probabilities = self.probabilities.rows(start, rows, start);
        let outer = self.outer.rows(start, rows, 0);
        self.sums.set_product(self.arch, probabilities, outer);
    }

    /// result[start + r, column + d] += sums[r, d].
    #[inline(always)]
    fn add_to(&self, result: &mut [f32], start: usize, column: usize) {
        let rows = result.chunks_exact_mut(self.shape.columns()).skip(start);
        for (to, from) in rows.zip(self.sums.values.chunks_exact(self.sums.stride).take(ROWS)) {
            for (to, from) in to[column..][..self.shape.head_dim].iter_mut().zip(from) {
                *to += from;
            }
        }
    }
}
