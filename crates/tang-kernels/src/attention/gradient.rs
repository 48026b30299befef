//! The gradient of causal self-attention, for one head of one text at a time.
//!
//! The probabilities are computed again (Dao et al., *FlashAttention*, 2022, does so, too).

use pulp::{Arch, Simd, WithSimd};

use crate::{
    AttentionShape,
    attention::training::{HeadPlace, softmax},
    matmul::{
        matrix::{Matrix, transpose},
        tile::{COLUMNS, ROWS, Rows, product},
    },
    reduce::lanes,
};

/// The gradient of the projection, given that of what [`attention`](crate::attention) gave.
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
        let projections = self.projection.chunks_exact(shape.length * shape.columns());
        let gradients = self.gradient.chunks_exact(shape.length * shape.width());
        let results = self.result.chunks_exact_mut(shape.length * shape.columns());
        let mut head = Head::new(shape);
        for ((projection, gradient), result) in projections.zip(gradients).zip(results) {
            for index in 0..shape.heads {
                let place = shape.place(index);
                head.take(projection, gradient, place);
                for start in (0..shape.length).step_by(ROWS) {
                    head.set_errors(simd, start);
                    head.sum_queries(simd, start);
                    head.add_sums(result, start, place.query);
                }
                for start in (0..shape.length).step_by(ROWS) {
                    head.sum_keys(simd, start);
                    head.add_sums(result, start, place.key);
                    head.sum_values(simd, start);
                    head.add_sums(result, start, place.value);
                }
            }
        }
    }
}

/// What one head is differentiated from, and with. A name that ends with `_t` is of a matrix that is
/// transposed: `[head_dim, length]`, the others being `[length, head_dim]`.
struct Head {
    shape: AttentionShape,
    scaled_queries: Matrix,
    scaled_queries_t: Matrix,
    scaled_keys: Matrix,
    keys_t: Matrix,
    values_t: Matrix,
    /// Gradient of the output.
    outer: Matrix,
    outer_t: Matrix,
    /// `[length, length]`: a row a query.
    probabilities: Matrix,
    /// Gradients of the scores, as large.
    errors: Matrix,
    /// Errors of [`ROWS`] queries, transposed.
    errors_t: Vec<f32>,
    /// Gradients of [`ROWS`] queries, keys or values.
    sums: Matrix,
}

impl Head {
    fn new(shape: AttentionShape) -> Self {
        let AttentionShape {
            length, head_dim, ..
        } = shape;
        let errors = Matrix::new(length, length);
        Self {
            shape,
            scaled_queries: Matrix::new(length, head_dim),
            scaled_queries_t: Matrix::new(head_dim, length),
            scaled_keys: Matrix::new(length, head_dim),
            keys_t: Matrix::new(head_dim, length),
            values_t: Matrix::new(head_dim, length),
            outer: Matrix::new(length, head_dim),
            outer_t: Matrix::new(head_dim, length),
            probabilities: Matrix::new(length, length),
            errors_t: vec![0.0; ROWS * errors.stride],
            errors,
            sums: Matrix::new(ROWS, head_dim),
        }
    }

    /// Takes a head over from a text.
    #[inline(always)]
    fn take(&mut self, projection: &[f32], gradient: &[f32], place: HeadPlace) {
        let HeadPlace { query, key, value } = place;
        let (scale, head_dim) = (self.shape.scale(), self.shape.head_dim);
        let (columns, width) = (self.shape.columns(), self.shape.width());
        let Self {
            scaled_queries,
            scaled_queries_t,
            scaled_keys,
            keys_t,
            values_t,
            outer,
            outer_t,
            ..
        } = self;
        scaled_queries.take(projection, columns, query, head_dim, scale);
        scaled_queries_t.take_transposed(projection, columns, query, head_dim, scale);
        scaled_keys.take(projection, columns, key, head_dim, scale);
        keys_t.take_transposed(projection, columns, key, head_dim, 1.0);
        values_t.take_transposed(projection, columns, value, head_dim, 1.0);
        outer.take(gradient, width, query, head_dim, 1.0);
        outer_t.take_transposed(gradient, width, query, head_dim, 1.0);
    }

    /// Probabilities and errors of the queries `start..start + ROWS`.
    #[inline(always)]
    fn set_errors<S: Simd>(&mut self, simd: S, start: usize) {
        let head_dim = self.shape.head_dim;
        let seen = (start + ROWS).next_multiple_of(COLUMNS);
        let stride = self.errors.stride;
        let block = start * stride..(start + ROWS) * stride;
        let probabilities = &mut self.probabilities.values[block.clone()];
        let queries = self.scaled_queries_t.rows(0, head_dim, start);
        let keys = self.keys_t.rows(0, head_dim, 0);
        product(simd, queries, keys, seen, probabilities, stride);
        softmax(probabilities, stride, start);
        let errors = &mut self.errors.values[block];
        let outer = self.outer_t.rows(0, head_dim, start);
        let values = self.values_t.rows(0, head_dim, 0);
        product(simd, outer, values, seen, errors, stride);
        // These are gradients of probabilities yet: d score = p (d p - sum of p d p)
        let pairs = errors.chunks_exact_mut(stride);
        for (errors, probabilities) in pairs.zip(probabilities.chunks_exact(stride)) {
            let (errors, probabilities) = (&mut errors[..seen], &probabilities[..seen]);
            let mean = lanes::sum_of(errors, probabilities, |e, p| e * p);
            for (error, probability) in errors.iter_mut().zip(probabilities) {
                *error = probability * (*error - mean);
            }
        }
    }

    /// Gradients of the queries `start..start + ROWS`, which see no later keys.
    #[inline(always)]
    fn sum_queries<S: Simd>(&mut self, simd: S, start: usize) {
        let (seen, stride) = (start + ROWS, self.errors.stride);
        let errors = &self.errors.values[start * stride..seen * stride];
        transpose(errors, stride, seen, &mut self.errors_t);
        let errors = Rows {
            values: &self.errors_t[..seen * ROWS],
            stride: ROWS,
        };
        let keys = self.scaled_keys.rows(0, seen, 0);
        self.sums.set_product(simd, errors, keys);
    }

    /// Gradients of the keys `start..start + ROWS`, which no earlier queries see.
    #[inline(always)]
    fn sum_keys<S: Simd>(&mut self, simd: S, start: usize) {
        let rows = self.shape.length - start;
        let errors = self.errors.rows(start, rows, start);
        let queries = self.scaled_queries.rows(start, rows, 0);
        self.sums.set_product(simd, errors, queries);
    }

    /// Gradients of the values `start..start + ROWS`, which no earlier queries see.
    #[inline(always)]
    fn sum_values<S: Simd>(&mut self, simd: S, start: usize) {
        let rows = self.shape.length - start;
        let probabilities = self.probabilities.rows(start, rows, start);
        let outer = self.outer.rows(start, rows, 0);
        self.sums.set_product(simd, probabilities, outer);
    }

    /// Adds the sums to rows from `start` on and columns from `column` on.
    #[inline(always)]
    fn add_sums(&self, result: &mut [f32], start: usize, column: usize) {
        let rows = result.chunks_exact_mut(self.shape.columns()).skip(start);
        for (to, from) in rows.zip(self.sums.values.chunks_exact(self.sums.stride).take(ROWS)) {
            for (to, from) in to[column..][..self.shape.head_dim].iter_mut().zip(from) {
                *to += from;
            }
        }
    }
}
