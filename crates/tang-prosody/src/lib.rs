//! What the rules of regulated verse say about a poem, without any model: its [`Form`], which
//! fixes the number of lines and their length, and its [`Layout`], which says where the marks fall.

mod error;
mod form;
mod layout;

pub use error::ProsodyError;
pub use form::{COMMA, FULL_STOP, Form, LineLength, is_han};
pub use layout::{Layout, Slot};
