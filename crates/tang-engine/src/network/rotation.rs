//! Rotary positions.

use tang_checkpoint::Rope;

/// Cosines and sines by which queries and keys are rotated (Su et al., *RoFormer*, 2021), each
/// `[tokens, head_dim / 2]`: Hugging Face's half-split form rotates number i of a head together with
/// number i + head_dim / 2.
#[derive(Debug)]
pub(crate) struct Rotation {
    pub(crate) cos: Vec<f32>,
    pub(crate) sin: Vec<f32>,
}

impl Rotation {
    /// The rotation of tokens at these positions.
    pub(crate) fn new(
        rope: &Rope,
        head_dim: usize,
        positions: impl IntoIterator<Item = usize>,
    ) -> Self {
        let (cos, sin) = rope.tables(head_dim, positions);
        Self { cos, sin }
    }
}
