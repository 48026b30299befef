//! The two families of networks.

use super::Rope;

/// The family of a network. All differences between networks follow from it: norms, positions, the
/// feed-forward network, biases, and how a Hugging Face checkpoint names and lays out its tensors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// GPT-2 (Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019):
    /// learned positions, layer norm, GELU, biases.
    Gpt2,
    /// Llama (Touvron et al., *LLaMA*, 2023): rotary positions, RMS norm, SwiGLU, no biases, and
    /// fewer key/value heads than query heads if wanted (Ainslie et al., *GQA*, 2023).
    Llama {
        /// Its positions.
        rope: Rope,
    },
}

impl Family {
    /// The usual name, for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "GPT-2",
            Self::Llama { .. } => "Llama",
        }
    }
}
