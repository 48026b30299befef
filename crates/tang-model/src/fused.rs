//! Operations that Burn would compose from many, done in one pass each on the CPU, with gradients
//! written by hand.
//!
//! Burn routes each to the implementation of the device's backend: `flex` has the kernels of
//! `tang-kernels`, any other backend takes the composition of Burn's own operations.

mod attention;
mod gelu;
mod layer_norm;
mod linear;
mod rms_norm;
mod rotary;
mod swiglu;

use burn::{
    backend::{
        Autodiff, Backend, Dispatch, Flex,
        autodiff::{
            checkpoint::strategy::CheckpointStrategy,
            ops::{Backward, NodeGuard, OpsKind},
        },
        backend_extension,
        flex::FlexTensor,
        tensor::FloatTensor,
    },
    tensor::{Shape, Tensor, TensorData},
};

/// GELU in its tanh form, which Hugging Face calls `gelu_new`, of each number.
pub(crate) fn gelu(x: Tensor<3>) -> Tensor<3> {
    Tensor::from_dispatch(<Dispatch as FusedOps>::gelu_tanh(x.into_dispatch()))
}

/// SwiGLU: silu(gate) x value.
///
/// # Shapes
///
/// - gates_and_values: `[batch, length, 2 x inner]`, the gates first
/// - output: `[batch, length, inner]`
pub(crate) fn swiglu(gates_and_values: Tensor<3>) -> Tensor<3> {
    let gates_and_values = gates_and_values.into_dispatch();
    Tensor::from_dispatch(<Dispatch as FusedOps>::fused_swiglu(gates_and_values))
}

/// Layer norm over the last dimension.
///
/// # Shapes
///
/// - x, output: `[batch, length, width]`
/// - gamma, beta: `[width]`
pub(crate) fn layer_norm(
    x: Tensor<3>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
) -> Tensor<3> {
    Tensor::from_dispatch(<Dispatch as FusedOps>::fused_layer_norm(
        x.into_dispatch(),
        gamma.into_dispatch(),
        beta.into_dispatch(),
        epsilon,
    ))
}

/// RMS norm over the last dimension.
///
/// # Shapes
///
/// - x, output: `[batch, length, width]`
/// - gamma: `[width]`
pub(crate) fn rms_norm(x: Tensor<3>, gamma: Tensor<1>, epsilon: f64) -> Tensor<3> {
    let (x, gamma) = (x.into_dispatch(), gamma.into_dispatch());
    Tensor::from_dispatch(<Dispatch as FusedOps>::fused_rms_norm(x, gamma, epsilon))
}

/// Rotary positions in the first `heads` heads of a packed projection.
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
    Tensor::from_dispatch(<Dispatch as FusedOps>::fused_rotary(
        projection.into_dispatch(),
        cos.into_dispatch(),
        sin.into_dispatch(),
        heads,
    ))
}

/// x weight + bias.
///
/// # Shapes
///
/// - x: `[batch, length, inputs]`
/// - weight: `[inputs, outputs]`
/// - bias: `[outputs]`
/// - output: `[batch, length, outputs]`
pub(crate) fn linear(x: Tensor<3>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<3> {
    Tensor::from_dispatch(<Dispatch as FusedOps>::fused_linear(
        x.into_dispatch(),
        weight.into_dispatch(),
        bias.into_dispatch(),
    ))
}

/// Causal self-attention of each text over itself.
///
/// # Shapes
///
/// - projection: `[batch, length, (heads + 2 kv_heads) x head_dim]`: queries, keys, values
/// - output: `[batch, length, heads x head_dim]`
pub(crate) fn self_attention(projection: Tensor<3>, heads: usize, kv_heads: usize) -> Tensor<3> {
    let projection = projection.into_dispatch();
    Tensor::from_dispatch(<Dispatch as FusedOps>::fused_self_attention(
        projection, heads, kv_heads,
    ))
}

/// The operations, for a backend. The default bodies compose them.
#[backend_extension(Flex, Cube: cfg(feature = "wgpu"), Autodiff)]
pub(crate) trait FusedOps: Backend {
    fn gelu_tanh(x: FloatTensor<Self>) -> FloatTensor<Self> {
        gelu::composed::<Self>(x)
    }

    fn fused_swiglu(gates_and_values: FloatTensor<Self>) -> FloatTensor<Self> {
        swiglu::composed::<Self>(gates_and_values)
    }

    fn fused_layer_norm(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        epsilon: f64,
    ) -> FloatTensor<Self> {
        Self::layer_norm(x, gamma, Some(beta), epsilon)
    }

    fn fused_rms_norm(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        epsilon: f64,
    ) -> FloatTensor<Self> {
        rms_norm::composed::<Self>(x, gamma, epsilon)
    }

    fn fused_rotary(
        projection: FloatTensor<Self>,
        cos: FloatTensor<Self>,
        sin: FloatTensor<Self>,
        heads: usize,
    ) -> FloatTensor<Self> {
        rotary::composed::<Self>(projection, cos, sin, heads)
    }

    fn fused_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        Self::linear(x, weight, Some(bias))
    }

    fn fused_self_attention(
        projection: FloatTensor<Self>,
        heads: usize,
        kv_heads: usize,
    ) -> FloatTensor<Self> {
        attention::composed::<Self>(projection, heads, kv_heads)
    }
}

impl FusedOps for Flex {
    fn gelu_tanh(x: FloatTensor<Self>) -> FloatTensor<Self> {
        gelu::forward(&x)
    }

    fn fused_swiglu(gates_and_values: FloatTensor<Self>) -> FloatTensor<Self> {
        swiglu::forward(&gates_and_values)
    }

    fn fused_layer_norm(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        epsilon: f64,
    ) -> FloatTensor<Self> {
        layer_norm::forward(&x, &gamma, &beta, epsilon)
    }

    fn fused_rms_norm(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        epsilon: f64,
    ) -> FloatTensor<Self> {
        rms_norm::forward(&x, &gamma, epsilon)
    }

    fn fused_rotary(
        projection: FloatTensor<Self>,
        cos: FloatTensor<Self>,
        sin: FloatTensor<Self>,
        heads: usize,
    ) -> FloatTensor<Self> {
        rotary::forward(projection, &cos, &sin, heads)
    }

    fn fused_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        linear::forward(x, weight, &bias)
    }

    fn fused_self_attention(
        projection: FloatTensor<Self>,
        heads: usize,
        kv_heads: usize,
    ) -> FloatTensor<Self> {
        attention::forward(&projection, heads, kv_heads)
    }
}

#[cfg(feature = "wgpu")]
impl FusedOps for burn::backend::Cube {}

#[cfg(feature = "wgpu")]
impl<C: CheckpointStrategy> FusedOps for Autodiff<burn::backend::Cube, C> {}

impl<C: CheckpointStrategy> FusedOps for Autodiff<Flex, C> {
    fn gelu_tanh(x: FloatTensor<Self>) -> FloatTensor<Self> {
        gelu::differentiable::<C>(x)
    }

    fn fused_swiglu(gates_and_values: FloatTensor<Self>) -> FloatTensor<Self> {
        swiglu::differentiable::<C>(gates_and_values)
    }

    fn fused_layer_norm(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        epsilon: f64,
    ) -> FloatTensor<Self> {
        layer_norm::differentiable::<C>(x, gamma, beta, epsilon)
    }

    fn fused_rms_norm(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        epsilon: f64,
    ) -> FloatTensor<Self> {
        rms_norm::differentiable::<C>(x, gamma, epsilon)
    }

    fn fused_rotary(
        projection: FloatTensor<Self>,
        cos: FloatTensor<Self>,
        sin: FloatTensor<Self>,
        heads: usize,
    ) -> FloatTensor<Self> {
        rotary::differentiable::<C>(projection, cos, sin, heads)
    }

    fn fused_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        linear::differentiable::<C>(x, weight, bias)
    }

    fn fused_self_attention(
        projection: FloatTensor<Self>,
        heads: usize,
        kv_heads: usize,
    ) -> FloatTensor<Self> {
        attention::differentiable::<C>(projection, heads, kv_heads)
    }
}

const FLOATS: &str = "the network computes in 32-bit floats";

/// Shows a kernel the numbers of a tensor, row by row.
fn read<R>(tensor: &FlexTensor, kernel: impl FnOnce(&[f32]) -> R) -> R {
    kernel(tensor.to_contiguous().as_slice().expect(FLOATS))
}

/// Lets a kernel change the numbers of a tensor; they are copied only if something else holds them.
fn change<R>(tensor: FlexTensor, kernel: impl FnOnce(&mut [f32]) -> R) -> (FlexTensor, R) {
    let mut data = tensor.into_data();
    let result = kernel(data.as_mut_slice().expect(FLOATS));
    (FlexTensor::from_data(data), result)
}

/// Puts an operation into the graph of its inputs, if any of them wants a gradient; `state` is what its
/// backward pass reads.
fn track<C: CheckpointStrategy, B: Backward<Flex, N>, const N: usize>(
    operation: B,
    inputs: [NodeGuard; N],
    state: impl FnOnce() -> B::State,
    output: FlexTensor,
) -> FloatTensor<Autodiff<Flex, C>> {
    match operation.prepare::<C>(inputs).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(state(), output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    }
}

fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}

#[cfg(test)]
mod tests {
    use burn::backend::{TensorMetadata, ops::FloatTensorOps};

    use super::*;

    /// Numbers of a shape, irregular and around 0.
    pub(crate) fn numbers(shape: &[usize], seed: f32) -> FlexTensor {
        let len: usize = shape.iter().product();
        let values = (0..len).map(|i| 2.0 * (i as f32 * 0.618 + seed).sin());
        tensor(values.collect(), shape.to_vec())
    }

    type Differentiable = FloatTensor<Autodiff<Flex>>;

    /// Compares two forms of one operation: what they give, and the gradients of all inputs under a
    /// loss that weighs each output differently.
    pub(crate) fn assert_same<const N: usize>(
        inputs: [FlexTensor; N],
        fused: impl Fn([Differentiable; N]) -> Differentiable,
        composed: impl Fn([Differentiable; N]) -> Differentiable,
    ) {
        let run = |form: &dyn Fn([Differentiable; N]) -> Differentiable| -> Vec<Vec<f32>> {
            let inputs = inputs
                .clone()
                .map(|input| Differentiable::new(input).require_grad());
            let output = form(inputs.clone());
            let values = output.primitive().clone();
            let weights = numbers(&values.shape().to_vec(), 0.3);
            let product = Autodiff::<Flex>::float_mul(output, Differentiable::new(weights));
            let gradients = Autodiff::<Flex>::float_sum(product).backward();
            let of_inputs = inputs.map(|input| input.grad(&gradients).unwrap());
            std::iter::once(values)
                .chain(of_inputs)
                .map(|tensor| read(&tensor, <[f32]>::to_vec))
                .collect()
        };
        for (got, wanted) in run(&fused).into_iter().zip(run(&composed)) {
            assert_eq!(got.len(), wanted.len());
            let scale = wanted.iter().fold(1.0, |max: f32, x| max.max(x.abs()));
            for (got, wanted) in got.iter().zip(&wanted) {
                assert!((got - wanted).abs() < 2e-6 * scale, "{got} {wanted}");
            }
        }
    }
}
