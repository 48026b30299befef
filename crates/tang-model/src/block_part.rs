//! What one side reads of a block, and what it makes of it.

use crate::{activation::Activation, linear_part::LinearPart, norm::NormNumbers, pass::Pass};

/// The part of a block that one side computes, by kernels. A side without heads, or without columns, has
/// no part of that layer.
#[derive(Debug)]
pub(crate) struct BlockPart {
    pub(crate) attention: Option<AttentionPart>,
    pub(crate) feed_forward: Option<FeedForwardPart>,
}

/// Some heads of attention.
#[derive(Debug)]
pub(crate) struct AttentionPart {
    pub(crate) norm: NormNumbers,
    /// To their queries, keys and values.
    pub(crate) input: LinearPart,
    /// From what they gather.
    pub(crate) output: LinearPart,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
}

/// Some columns between the two matrices of a feed-forward network.
#[derive(Debug)]
pub(crate) struct FeedForwardPart {
    pub(crate) norm: NormNumbers,
    pub(crate) input: LinearPart,
    pub(crate) output: LinearPart,
    pub(crate) activation: Activation,
}

impl AttentionPart {
    /// What these heads add to the residual stream, `[rows, length, width]`; `layer` counts the blocks.
    pub(crate) fn run(&self, pass: &mut Pass<'_>, layer: usize) -> Vec<f32> {
        let projected = self.input.of_rows(&self.norm.of_rows(&pass.stream));
        let gathered = pass.attend(layer, &projected, [self.heads, self.kv_heads]);
        self.output.of_rows(&gathered)
    }
}

impl FeedForwardPart {
    /// What these columns add to the residual stream, `[rows, length, width]`.
    pub(crate) fn run(&self, pass: &Pass<'_>) -> Vec<f32> {
        let wide = self.input.of_rows(&self.norm.of_rows(&pass.stream));
        let width = wide.len() / pass.ids.len();
        self.output.of_rows(&self.activation.of_rows(&wide, width))
    }
}
