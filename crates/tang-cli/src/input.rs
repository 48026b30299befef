//! Reading of texts, poems and the corpus.

pub mod corpus_build;
pub mod given;
pub mod poem_input;
pub mod stand_in;
pub mod user_text;

pub use self::{
    corpus_build::{CORPUS_FOLDER, build_corpus, open_split, read_corpus},
    given::Given,
    poem_input::{left_out, read_page},
    stand_in::{StandIn, note_stand_ins},
    user_text::UserText,
};
