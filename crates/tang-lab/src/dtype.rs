//! The formats in which a model's numbers are stored.

use std::{fmt, str::FromStr};

use serde::Serialize;

use crate::LabError;

/// The format of a stored number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 32-bit float.
    F32,
    /// 16-bit float of IEEE 754.
    F16,
    /// 16-bit float with the range of a 32-bit one.
    Bf16,
    /// 8-bit integer; its scales are not counted.
    Int8,
}

impl Dtype {
    /// All of them, widest first.
    pub const ALL: [Self; 4] = [Self::F32, Self::F16, Self::Bf16, Self::Int8];

    /// The name as typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }

    /// Bytes a number.
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Int8 => 1,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dtype {
    type Err = LabError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dtype| dtype.name() == name)
            .ok_or_else(|| LabError::UnknownName {
                what: "number format",
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.name().parse::<Dtype>().unwrap(), dtype);
        }
        assert_eq!(Dtype::ALL.map(Dtype::bytes), [4, 2, 2, 1]);
        let error = "f64".parse::<Dtype>().unwrap_err().to_string();
        assert_eq!(
            error,
            "no number format `f64`: use one of f32, f16, bf16, int8"
        );
    }
}
