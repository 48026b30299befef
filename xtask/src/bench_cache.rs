//! `cargo xtask bench-cache`: run `tang bench-cache`.

use std::ffi::OsString;

use anyhow::Result;

use crate::process;

/// Builds `tang` and passes `arguments` on; output is the benchmark's own.
pub fn run(arguments: &[OsString]) -> Result<()> {
    process::run(process::tang().arg("bench-cache").args(arguments))
}
