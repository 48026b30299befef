//! What can go wrong when a form is named.

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProsodyError {
    /// The name is none of the four forms.
    #[error("unknown form `{name}`: use one of 五绝, 七绝, 五律, 七律")]
    UnknownForm {
        /// The name that was given.
        name: String,
    },
    /// The number is no line length of regulated verse.
    #[error("a line of {length} characters is not regulated verse: use 5 or 7")]
    LineLength {
        /// The length that was given.
        length: String,
    },
}
