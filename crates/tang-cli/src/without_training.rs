//! The module `training` of a program that was built without the feature `train`: its commands and
//! devices say so.

use std::ffi::OsString;

use anyhow::Result;

use crate::output::NotBuilt;

pub use self::{command as bench_train, command as devices, command as train};

/// A command that is missing.
pub mod command {
    use clap::Args;

    use super::{NotBuilt, OsString, Result};

    /// All words are accepted, since a missing command cannot check its flags.
    #[derive(Args)]
    #[command(disable_help_flag = true)]
    pub struct Options {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _words: Vec<OsString>,
    }

    /// Says which build has the command.
    pub fn run<T>(_: &Options) -> Result<T> {
        Err(NotBuilt.into())
    }
}

/// The module of GPUs: there are none in this program.
pub mod gpu {
    use tang_checkpoint::ModelFolder;
    use tang_engine::Model;

    use super::{NotBuilt, Result};

    /// A type without values.
    #[derive(Debug, Clone)]
    pub enum Gpu {}

    impl Gpu {
        /// Says which build has GPUs.
        pub fn open() -> Result<Self> {
            Err(NotBuilt.into())
        }

        pub fn name(&self) -> String {
            match *self {}
        }

        pub fn model(&self, _: ModelFolder) -> Result<Box<dyn Model>> {
            match *self {}
        }
    }
}

/// No flag helps.
pub fn hint(_: &anyhow::Error) -> Option<&'static str> {
    None
}
