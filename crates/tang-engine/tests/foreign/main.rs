//! Checkpoints as other programs write them: the reference models, changed in ways that do not change
//! their logits, or that change them as transformers does.

#![cfg(test)]

mod copied;
mod files;
mod rope;
mod tensors;
