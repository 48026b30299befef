//! Work on a matrix of results, cut into two parts by columns.

use std::{ops::Range, sync::Arc};

use crate::helper::both;

/// Multiplications below which a second thread costs more than it gives.
const WORTH_A_THREAD: usize = 1 << 13;

/// Numbers that two threads can read.
pub trait Numbers: AsRef<[f32]> + Clone + Send + Sync + 'static {}

impl<T: AsRef<[f32]> + Clone + Send + Sync + 'static> Numbers for T {}

/// A matrix of `rows` x `columns` numbers, row after row, that `work` adds to: it is called with
/// ranges of columns that cover the matrix, and the part of each row that they are, on one thread
/// or on two.
pub(crate) fn by_columns(
    rows: usize,
    columns: usize,
    multiplications: usize,
    work: impl Fn(Range<usize>, &mut [&mut [f32]]) + Send + Sync + 'static,
) -> Vec<f32> {
    let mut out = vec![0.0; rows * columns];
    if multiplications < WORTH_A_THREAD {
        let mut parts: Vec<&mut [f32]> = out.chunks_exact_mut(columns).collect();
        work(0..columns, &mut parts);
        return out;
    }
    // Whole vectors of the widest processors.
    let middle = columns.div_ceil(2).next_multiple_of(16).min(columns);
    let (mut left, right): (Vec<_>, Vec<_>) = out
        .chunks_exact_mut(columns)
        .map(|row| row.split_at_mut(middle))
        .unzip();
    let work = Arc::new(work);
    let other = Arc::clone(&work);
    let computed = both(
        || work(0..middle, &mut left),
        move || {
            let width = columns - middle;
            let mut part = vec![0.0; rows * width];
            let mut parts: Vec<&mut [f32]> = part.chunks_exact_mut(width.max(1)).collect();
            other(middle..columns, &mut parts);
            part
        },
    );
    for (row, computed) in right
        .into_iter()
        .zip(computed.chunks_exact((columns - middle).max(1)))
    {
        row.copy_from_slice(computed);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_every_column_once() {
        for columns in [1, 16, 17, 100, 6289] {
            for multiplications in [0, 1 << 30] {
                let out = by_columns(3, columns, multiplications, move |range, rows| {
                    for (r, row) in rows.iter_mut().enumerate() {
                        assert_eq!(row.len(), range.len());
                        for (value, column) in row.iter_mut().zip(range.clone()) {
                            *value += (r * columns + column) as f32 + 1.0;
                        }
                    }
                });
                assert_eq!(out.len(), 3 * columns);
                for (i, value) in out.into_iter().enumerate() {
                    assert_eq!(value, i as f32 + 1.0);
                }
            }
        }
    }
}
