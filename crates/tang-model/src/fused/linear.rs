//! A linear layer.

use burn::{
    backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps},
    tensor::{Shape, Tensor, module},
};

use super::{Operation, change, floats, run, tensor};
use crate::device::is_cpu;

/// x weight + bias. All positions are rows of one product, which is faster than one product per text, above
/// all for the gradient.
///
/// # Shapes
///
/// - x: `[batch, length, inputs]`
/// - weight: `[inputs, outputs]`
/// - bias: `[outputs]`
/// - output: `[batch, length, outputs]`
pub(crate) fn linear(x: Tensor<3>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<3> {
    let Some(bias) = bias else {
        let ([batch, length, inputs], [_, outputs]) = (x.dims(), weight.dims());
        let product = x.reshape([batch * length, inputs]).matmul(weight);
        return product.reshape([batch, length, outputs]);
    };
    if is_cpu(&x.device()) {
        let (weight, bias) = (weight.into_dispatch(), bias.into_dispatch());
        run(Linear, [x.into_dispatch(), weight, bias])
    } else {
        module::linear(x, weight, Some(bias))
    }
}

/// `[batch, length, width]` -> `[batch length, width]`.
fn rows(x: FlexTensor) -> FlexTensor {
    let [batch, length, width] = x.shape().dims();
    Flex::float_reshape(x, Shape::new([batch * length, width]))
}

#[derive(Debug)]
struct Linear;

impl Operation<3> for Linear {
    type Saved = (FlexTensor, FlexTensor);

    fn forward(&self, [x, weight, bias]: [FlexTensor; 3]) -> (FlexTensor, Self::Saved) {
        let ([batch, length, _], [_, outputs]) = (x.shape().dims(), weight.shape().dims());
        let product = Flex::float_matmul(rows(x.clone()), weight.clone());
        let kernel = |sum: &mut [f32]| tang_kernels::add_to_rows(sum, floats(&bias));
        let (sum, ()) = change(product, kernel);
        let sum = Flex::float_reshape(sum, Shape::new([batch, length, outputs]));
        (sum, (x, weight))
    }

    fn backward(self, (x, weight): Self::Saved, gradient: FlexTensor) -> [FlexTensor; 3] {
        let (gradient, shape) = (rows(gradient), x.shape());
        let [_, outputs] = gradient.shape().dims();
        let of_bias = tang_kernels::sum_of_rows(floats(&gradient), outputs);
        let of_x = Flex::float_matmul(gradient.clone(), Flex::float_swap_dims(weight, 0, 1));
        let of_weight = Flex::float_matmul(Flex::float_swap_dims(rows(x), 0, 1), gradient);
        [Flex::float_reshape(of_x, shape), of_weight, tensor(of_bias, [outputs])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::tests::assert_same;

    #[test]
    fn equals_the_composed_form() {
        let (matrix, vector) = (
            |tensor: Tensor<3>| tensor.reshape([17, 37]),
            |tensor: Tensor<3>| tensor.reshape([37]),
        );
        assert_same(
            [[3, 5, 17], [1, 17, 37], [1, 1, 37]],
            |[x, weight, bias]| linear(x, matrix(weight), Some(vector(bias))),
            |[x, weight, bias]| module::linear(x, matrix(weight), Some(vector(bias))),
        );
    }
}
