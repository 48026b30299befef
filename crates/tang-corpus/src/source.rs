//! The published collection: fetched, as an archive, or as files in a folder.

mod archive;
mod inflated;
mod npm;
mod poem_files;
mod program;

pub(crate) use archive::read_archive;
pub use npm::Npm;
pub use poem_files::Texts;
pub(crate) use poem_files::read_folder;
