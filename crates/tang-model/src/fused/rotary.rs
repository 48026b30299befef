//! Rotary positions.

use burn::{
    backend::{Flex, TensorMetadata, flex::FlexTensor},
    tensor::Tensor,
};
use tang_kernels::Rotary;

use super::{Operation, change, floats, primitive, run};
use crate::device::is_cpu;

/// Rotary positions in the first `heads` heads of a packed projection (see [`tang_kernels::Rotary`]).
///
/// # Shapes
///
/// - projection, output: `[batch, length, columns]`
/// - cos, sin: `[1 or batch, length, head_dim / 2]`; they get no gradient
pub(crate) fn rotary(
    projection: Tensor<3>,
    cos: Tensor<3>,
    sin: Tensor<3>,
    heads: usize,
) -> Tensor<3> {
    if !is_cpu(&projection.device()) {
        return composed(projection, cos, sin, heads);
    }
    let [cos, sin] = [cos, sin].map(|table| {
        let table = table.inner().into_dispatch();
        primitive::<Flex>(table).to_contiguous()
    });
    run(Rotation { cos, sin, heads }, [projection.into_dispatch()])
}

/// (a, b) -> (a cos - b sin, b cos + a sin) for each pair.
fn composed(projection: Tensor<3>, cos: Tensor<3>, sin: Tensor<3>, heads: usize) -> Tensor<3> {
    let [batch, length, columns] = projection.dims();
    let [texts, _, half] = cos.dims();
    let rotated = 2 * half * heads;
    let [cos, sin] = [cos, sin].map(|table| table.reshape([texts, length, 1, half]));
    let pairs = projection.clone().narrow(2, 0, rotated);
    let pairs = pairs.reshape([batch, length, heads, 2 * half]);
    let (a, b) = (pairs.clone().narrow(3, 0, half), pairs.narrow(3, half, half));
    let first = a.clone() * cos.clone() - b.clone() * sin.clone();
    let second = b * cos + a * sin;
    let pairs = Tensor::cat(vec![first, second], 3).reshape([batch, length, rotated]);
    let rest = projection.narrow(2, rotated, columns - rotated);
    Tensor::cat(vec![pairs, rest], 2)
}

#[derive(Debug)]
struct Rotation {
    cos: FlexTensor,
    sin: FlexTensor,
    heads: usize,
}

impl Rotation {
    /// Rotates the projection, in place if it is not shared. A `sign` of -1 instead of 1 rotates
    /// back.
    fn rotate(&self, sign: f32, projection: FlexTensor) -> FlexTensor {
        let [_, _, columns] = projection.shape().dims();
        let [_, _, half] = self.cos.shape().dims();
        let rotary = Rotary { cos: floats(&self.cos), sin: floats(&self.sin), head_dim: 2 * half };
        let kernel = |x: &mut [f32]| rotary.rotate(sign, x, columns, self.heads);
        change(projection, kernel).0
    }
}

impl Operation<1> for Rotation {
    type Saved = ();

    fn forward(&self, [projection]: [FlexTensor; 1]) -> (FlexTensor, ()) {
        (self.rotate(1.0, projection), ())
    }

    fn backward(self, (): (), gradient: FlexTensor) -> [FlexTensor; 1] {
        [self.rotate(-1.0, gradient)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::tests::{assert_same, numbers};

    #[test]
    fn equals_the_composed_form() {
        // One table for all texts, and one each; a half that fills no vector.
        for (texts, half) in [(1, 16), (3, 5)] {
            let tables = |x: &Tensor<3>| {
                let tables = [1.0, 2.0].map(|seed| numbers([texts, 7, half], seed));
                if x.is_autodiff() { tables } else { tables.map(Tensor::inner) }
            };
            let with = |form: fn(Tensor<3>, Tensor<3>, Tensor<3>, usize) -> Tensor<3>| {
                move |[x]: [Tensor<3>; 1]| {
                    let [cos, sin] = tables(&x);
                    form(x, cos, sin, 3)
                }
            };
            assert_same([[3, 7, 4 * 2 * half]], with(rotary), with(composed));
        }
    }
}
