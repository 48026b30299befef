//! Numbers that two threads read.

use std::sync::Arc;

/// Numbers that any thread can hold on to.
pub trait Numbers: AsRef<[f32]> + Clone + Send + Sync + 'static {}

impl<T: AsRef<[f32]> + Clone + Send + Sync + 'static> Numbers for T {}

/// Numbers that were just computed, without a copy.
#[derive(Debug, Clone)]
pub struct Shared(Arc<Vec<f32>>);

impl From<Vec<f32>> for Shared {
    fn from(values: Vec<f32>) -> Self {
        Self(Arc::new(values))
    }
}

impl AsRef<[f32]> for Shared {
    fn as_ref(&self) -> &[f32] {
        &self.0
    }
}
