//! A running mean.

/// Adds up values and divides at the end.
#[derive(Debug, Default)]
pub(crate) struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// NaN if nothing was added.
    pub(crate) fn value(&self) -> f64 {
        self.sum / self.count as f64
    }
}
