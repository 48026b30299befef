//! Products of matrices.

pub(crate) mod matrix;
pub(crate) mod packed;
pub(crate) mod tile;
