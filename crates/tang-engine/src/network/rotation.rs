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
    /// The rotation of tokens at these positions:
    ///
    /// ```text
    /// cos[p, i] = factor cos(p frequency[i]), sin[p, i] = factor sin(p frequency[i])
    /// ```
    pub(crate) fn new(
        rope: &Rope,
        head_dim: usize,
        positions: impl IntoIterator<Item = usize>,
    ) -> Self {
        let frequencies = rope.frequencies(head_dim);
        let factor = rope.attention_factor();
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for position in positions {
            for frequency in &frequencies {
                let angle = position as f64 * frequency;
                cos.push((factor * angle.cos()) as f32);
                sin.push((factor * angle.sin()) as f32);
            }
        }
        Self { cos, sin }
    }
}
