//! A tensor in the memory of the host.

use std::borrow::Cow;

use safetensors::{Dtype, View, tensor::TensorView};

use crate::ModelError;

/// Numbers, row-major, and their shape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostTensor {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

impl HostTensor {
    pub(crate) fn new(shape: Vec<usize>, values: Vec<f32>) -> Self {
        let (wanted, got) = (shape.iter().product::<usize>(), values.len());
        assert_eq!(wanted, got, "shape {shape:?} does not hold {got} values");
        Self { shape, values }
    }

    /// Reads a tensor of a safetensors file; F16 and BF16 are widened.
    pub(crate) fn from_view(name: &str, view: &TensorView<'_>) -> Result<Self, ModelError> {
        let bytes = view.data();
        let halves = || bytes.as_chunks().0.iter().copied();
        let values: Vec<f32> = match view.dtype() {
            Dtype::F32 => {
                let (numbers, _) = bytes.as_chunks();
                numbers.iter().copied().map(f32::from_le_bytes).collect()
            }
            Dtype::F16 => halves().map(|n| f16_to_f32(u16::from_le_bytes(n))).collect(),
            Dtype::BF16 => halves().map(|n| bf16_to_f32(u16::from_le_bytes(n))).collect(),
            other => {
                let fault = format!(
                    "is stored as {other}; only F32, F16 and BF16 are read: convert the file"
                );
                return Err(ModelError::tensor(name, fault));
            }
        };
        if values.iter().any(|value| !value.is_finite()) {
            let fault = "holds infinite numbers or none: fetch or train the model again";
            return Err(ModelError::tensor(name, fault));
        }
        Ok(Self::new(view.shape().to_vec(), values))
    }

    pub(crate) fn check_shape(&self, name: &str, wanted: &[usize]) -> Result<(), ModelError> {
        if self.shape == wanted {
            return Ok(());
        }
        let got = &self.shape;
        let fault = format!("has shape {got:?}, but config.json asks for {wanted:?}");
        Err(ModelError::tensor(name, fault))
    }
}

/// Widens a number of 1 sign, 5 exponent and 10 fraction bits, subnormal ones too: the fields move to their places
/// in 32 bits, and 2^112 makes up for the other bias of the exponent.
fn f16_to_f32(bits: u16) -> f32 {
    const REBIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * REBIAS;
    let is_finite = bits & 0x7c00 != 0x7c00;
    (if is_finite { magnitude } else { f32::NAN }).copysign(f32::from_bits(u32::from(bits) << 16))
}

/// Widens the upper half of a 32-bit float.
fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

impl View for &HostTensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let bytes = self.values.iter().flat_map(|v| v.to_le_bytes());
        Cow::Owned(bytes.collect())
    }

    fn data_len(&self) -> usize {
        size_of_val(self.values.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn every_half_is_widened_exactly() {
        for bits in 0..=u16::MAX {
            for (ours, wanted) in [
                (f16_to_f32(bits), f16::from_bits(bits).to_f32()),
                (bf16_to_f32(bits), bf16::from_bits(bits).to_f32()),
            ] {
                let same = ours.to_bits() == wanted.to_bits();
                assert!(same || !(ours.is_finite() || wanted.is_finite()), "{bits:#06x}");
            }
        }
    }

    #[test]
    fn halves_are_widened() {
        let numbers = [1.5_f32, -0.25, 3.0, 0.0];
        let as_f16: Vec<u8> =
            numbers.iter().flat_map(|n| f16::from_f32(*n).to_le_bytes()).collect();
        let as_bf16: Vec<u8> =
            numbers.iter().flat_map(|n| bf16::from_f32(*n).to_le_bytes()).collect();
        for (dtype, bytes) in [(Dtype::F16, as_f16), (Dtype::BF16, as_bf16)] {
            let view = TensorView::new(dtype, vec![2, 2], &bytes).unwrap();
            let tensor = HostTensor::from_view("a", &view).unwrap();
            assert_eq!(tensor, HostTensor::new(vec![2, 2], numbers.to_vec()));
        }
        let bytes = [1.0_f32, f32::NAN].map(f32::to_le_bytes).concat();
        let view = TensorView::new(Dtype::F32, vec![2], &bytes).unwrap();
        let error = HostTensor::from_view("a", &view).unwrap_err().to_string();
        assert!(error.contains("`a` holds infinite numbers or none"), "{error}");
        let view = TensorView::new(Dtype::I8, vec![4], &[0; 4]).unwrap();
        let error = HostTensor::from_view("a", &view).unwrap_err().to_string();
        assert!(error.contains("`a`") && error.contains("I8"), "{error}");
    }
}
