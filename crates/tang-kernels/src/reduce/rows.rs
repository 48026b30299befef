//! A row added to all rows, and all rows added up.

use pulp::{Arch, Simd, WithSimd};

/// Adds `row` to each row of `rows`.
///
/// # Panics
///
/// If `rows` is no whole number of them.
pub fn add_to_rows(rows: &mut [f32], row: &[f32]) {
    assert!(rows.len().is_multiple_of(row.len()));
    Arch::new().dispatch(AddToRows { rows, row });
}

struct AddToRows<'a> {
    rows: &'a mut [f32],
    row: &'a [f32],
}

impl WithSimd for AddToRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for to in self.rows.chunks_exact_mut(self.row.len()) {
            for (to, x) in to.iter_mut().zip(self.row) {
                *to += x;
            }
        }
    }
}

/// The sum of all rows of `width` numbers each.
///
/// # Panics
///
/// If `rows` is no whole number of them.
pub fn sum_of_rows(rows: &[f32], width: usize) -> Vec<f32> {
    assert!(rows.len().is_multiple_of(width));
    let mut sum = vec![0.0; width];
    Arch::new().dispatch(SumOfRows {
        rows,
        sum: &mut sum,
    });
    sum
}

struct SumOfRows<'a> {
    rows: &'a [f32],
    sum: &'a mut [f32],
}

impl WithSimd for SumOfRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for row in self.rows.chunks_exact(self.sum.len()) {
            for (sum, x) in self.sum.iter_mut().zip(row) {
                *sum += x;
            }
        }
    }
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
