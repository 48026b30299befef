//! Tensors of the CPU, as kernels read and write them.

use burn::{
    backend::{Flex, flex::FlexTensor},
    tensor::{Tensor, TensorData},
};

/// The numbers of a tensor in memory, row-major, where a kernel can read and write them.
#[derive(Debug, Clone)]
pub(crate) struct CpuTensor(FlexTensor);

impl CpuTensor {
    /// The numbers of `tensor`; copied only if they do not lie in their order.
    ///
    /// # Panics
    ///
    /// If the device of the tensor [has no kernels](crate::device::has_kernels).
    pub(crate) fn of<const D: usize>(tensor: Tensor<D>) -> Self {
        let tensor = tensor
            .try_into_primitive::<Flex>()
            .expect("callers ask `has_kernels` first");
        Self(match tensor.is_contiguous() {
            true => tensor,
            false => tensor.to_contiguous(),
        })
    }

    /// A tensor of these numbers.
    ///
    /// # Panics
    ///
    /// If the shape asks for another number of values.
    pub(crate) fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
        Self(FlexTensor::from_data(TensorData::new(values, shape))).into_tensor()
    }

    /// The numbers.
    pub(crate) fn values(&self) -> &[f32] {
        self.0
            .as_slice()
            .expect("parameters and activations are 32-bit floats that lie in their order")
    }

    /// The numbers, to change them: in place, unless another tensor has them, too.
    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        let (start, end) = self
            .0
            .layout()
            .contiguous_offsets()
            .expect("the numbers lie in their order");
        &mut self.0.storage_mut()[start..end]
    }

    /// The tensor again.
    pub(crate) fn into_tensor<const D: usize>(self) -> Tensor<D> {
        Tensor::from_primitive::<Flex>(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lie_in_the_order_of_the_tensor() {
        let tensor = CpuTensor::tensor(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [2, 3]);
        assert_eq!(
            CpuTensor::of(tensor.clone().transpose()).values(),
            [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
        );
        let mut last = CpuTensor::of(tensor.clone().narrow(0, 1, 1));
        last.values_mut()[0] = 7.0;
        assert_eq!(last.values(), [7.0, 4.0, 5.0]);
        assert_eq!(CpuTensor::of(tensor).values()[3], 3.0, "a copy was changed");
    }
}
