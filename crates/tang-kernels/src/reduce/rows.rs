//! A row added to all rows, and all rows added up.

use crate::simd::vectorized;

/// `rows[t, c] += row[c]`.
///
/// # Panics
///
/// If `rows` is no whole number of rows.
pub fn add_to_rows(rows: &mut [f32], row: &[f32]) {
    assert!(rows.len().is_multiple_of(row.len()));
    vectorized!({
        for to in rows.chunks_exact_mut(row.len()) {
            for (to, x) in to.iter_mut().zip(row) {
                *to += x;
            }
        }
    });
}

/// `sum[c] = sum over t of rows[t, c]`, for rows of `width` numbers.
///
/// # Panics
///
/// If `rows` is no whole number of rows.
pub fn sum_of_rows(rows: &[f32], width: usize) -> Vec<f32> {
    assert!(rows.len().is_multiple_of(width));
    let mut sum = vec![0.0; width];
    vectorized!({
        for row in rows.chunks_exact(width) {
            for (sum, x) in sum.iter_mut().zip(row) {
                *sum += x;
            }
        }
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_along_columns() {
        let mut rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(sum_of_rows(&rows, 3), [5.0, 7.0, 9.0]);
        add_to_rows(&mut rows, &[10.0, 20.0, 30.0]);
        assert_eq!(rows, [11.0, 22.0, 33.0, 14.0, 25.0, 36.0]);
    }
}
