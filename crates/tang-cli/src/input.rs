//! Texts, poems and the corpus, as they come in.

pub mod corpus_build;
pub mod given;
pub mod poem_input;
pub mod user_text;
