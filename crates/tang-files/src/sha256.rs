//! The SHA-256 by which texts and vocabularies are recognised.

use sha2::{Digest, Sha256};

/// The SHA-256 of `bytes` in lower-case hexadecimal, as the `sha256sum` command prints it.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector `abc` of FIPS 180-4.
    #[test]
    fn agrees_with_the_standard() {
        assert_eq!(
            sha256_hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
