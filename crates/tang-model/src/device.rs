//! Where tensors live. The only file that names a backend.

use burn::tensor::Device;

/// What reports call the device that [`cpu`] gives.
pub const NAME: &str = "CPU, Burn's flex backend";

/// The version of Burn, for reports.
pub const BURN_VERSION: &str = "0.22.1";

/// The CPU, through Burn's pure-Rust `flex` backend.
pub fn cpu() -> Device {
    Device::flex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_is_compiled_in() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock = std::fs::read_to_string(path).unwrap();
        let burn = format!("name = \"burn\"\nversion = \"{BURN_VERSION}\"\n");
        assert!(
            lock.contains(&burn),
            "Cargo.lock has another version than {BURN_VERSION}"
        );
    }
}
