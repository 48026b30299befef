//! How many threads a product takes.

/// Who computes a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The thread that asks: the others have work of their own.
    One,
    /// That and the helper, where it is free and the product is large enough.
    Two,
}
