//! Work on a matrix of results, cut into two parts by columns.

use std::{ops::Range, sync::Arc};

use crate::{helper::both, threads::Threads, tile::COLUMNS};

/// Multiplications below which a second thread costs more than it gives.
const WORTH_A_THREAD: usize = 1 << 13;

/// A matrix of rows and columns of numbers, row after row, that `work` adds to: it is called with
/// ranges of columns that cover the matrix, and the part of each row that they are, on one thread
/// or on two.
pub(crate) fn by_columns(
    [rows, columns]: [usize; 2],
    multiplications: usize,
    threads: Threads,
    work: impl Fn(Range<usize>, &mut [&mut [f32]]) + Send + Sync + 'static,
) -> Vec<f32> {
    let mut out = vec![0.0; rows * columns];
    if threads == Threads::One || multiplications < WORTH_A_THREAD {
        let mut parts: Vec<&mut [f32]> = out.chunks_exact_mut(columns).collect();
        work(0..columns, &mut parts);
        return out;
    }
    let middle = columns.div_ceil(2).next_multiple_of(COLUMNS).min(columns);
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
            for threads in [Threads::One, Threads::Two] {
                let out = by_columns([3, columns], 1 << 30, threads, move |range, rows| {
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
