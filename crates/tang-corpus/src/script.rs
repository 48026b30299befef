//! Simplified and traditional characters.

mod converter;
mod traditional;

pub use converter::Converter;
pub use traditional::Traditional;
