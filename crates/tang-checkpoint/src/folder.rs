//! The files of a model folder.

mod json_file;
mod model_folder;
mod tensor_file;
mod weight_files;

pub use model_folder::ModelFolder;
pub(crate) use tensor_file::TensorFile;
