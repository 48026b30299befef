//! Sizes of memory as people write them.

use std::{fmt, str::FromStr};

use serde::Serialize;

use crate::LabError;

/// The binary units, each 1,024 times the one before.
const UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("EiB", 1 << 60),
];

/// A number of bytes. It displays in the binary unit that gives the shortest number, and is read
/// with its unit: `24GiB`, `1.5 TiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scaled = |size: u64| self.0 as f64 / size as f64;
        let (name, size) = UNITS
            .into_iter()
            // What two decimals would round up to 1,024 belongs to the next unit.
            .find(|(_, size)| scaled(*size) < 1023.995)
            .unwrap_or(UNITS[UNITS.len() - 1]);
        if self.0.is_multiple_of(size) {
            write!(f, "{} {name}", self.0 / size)
        } else {
            write!(f, "{:.2} {name}", scaled(size))
        }
    }
}

impl FromStr for Bytes {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || LabError::Size {
            text: text.to_owned(),
        };
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(error)?;
        let number: f64 = text[..end].parse().map_err(|_| error())?;
        let unit = text[end..].trim_start();
        let (_, size) = UNITS
            .into_iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .ok_or_else(error)?;
        let bytes = number * size as f64;
        // The largest u64 rounds up to 2^64 as a float, which is one too many.
        if bytes < 1.0 || bytes >= u64::MAX as f64 {
            return Err(error());
        }
        Ok(Self(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_size() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (4096, "4 KiB"),
            (1 << 19, "512 KiB"),
            (1_100_000, "1.05 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (12 << 30, "12 GiB"),
            (u64::MAX, "16.00 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn a_size_is_read_with_its_unit() {
        for (text, bytes) in [
            ("24GiB", 24 << 30),
            (" 1.5 tib ", 3 << 39),
            ("1B", 1),
            ("15.5EiB", 31 << 59),
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "", "24", "GiB", "24XB", "24GB", "-1GiB", "1e3GiB", "1.2.3GiB", ".GiB", "0GiB", "0.5B",
            "16EiB", "nanGiB", "infGiB", "２GiB",
        ] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}`")), "{error}");
        }
    }
}
