//! Fused operations: on the CPU one pass each, with gradients written by hand. On any other device
//! each is composed of Burn's own operations.

mod attention;
mod gelu;
mod layer_norm;
mod linear;
mod rms_norm;
mod rotary;
mod swiglu;

use std::fmt::Debug;

use burn::{
    backend::{
        Autodiff, Backend, DispatchAutodiffContext, DispatchKindConversion, DispatchTensor, Flex,
        autodiff::{
            checkpoint::{base::Checkpointer, strategy::NoCheckpointing},
            grads::Gradients,
            ops::{Backward, Ops, OpsKind},
        },
        flex::FlexTensor,
        tensor::FloatTensor,
    },
    tensor::{Shape, Tensor, TensorData},
};

pub(crate) use self::{
    attention::self_attention, gelu::gelu, layer_norm::layer_norm, linear::linear,
    rms_norm::rms_norm, rotary::rotary, swiglu::swiglu,
};
use crate::FLOATS;

/// An operation on the CPU with `N` inputs that are differentiated.
trait Operation<const N: usize>: Debug + Send + 'static {
    /// Tensors that the gradient needs.
    type Saved: Clone + Debug + Send + 'static;

    /// The output of contiguous inputs.
    fn forward(&self, inputs: [FlexTensor; N]) -> (FlexTensor, Self::Saved);

    /// The gradients of the inputs, given the contiguous one of the output.
    fn backward(self, saved: Self::Saved, gradient: FlexTensor) -> [FlexTensor; N];
}

/// Runs an operation on inputs that are all on the CPU, and adds it to the autodiff graph if they
/// are in one.
fn run<O: Operation<N>, const N: usize>(operation: O, inputs: [DispatchTensor; N]) -> Tensor<3> {
    if inputs[0].autodiff == DispatchAutodiffContext::Disabled {
        let inputs = inputs.map(|input| primitive::<Flex>(input).to_contiguous());
        return Tensor::from_primitive::<Flex>(operation.forward(inputs).0);
    }
    let inputs = inputs.map(primitive::<Autodiff<Flex>>);
    let nodes = inputs.each_ref().map(|input| input.node());
    let inputs = inputs.map(|input| input.into_primitive().to_contiguous());
    let (output, saved) = operation.forward(inputs);
    let prepared = ByHand(operation).prepare::<NoCheckpointing>(nodes);
    let output = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(saved, output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

fn primitive<B: Backend>(tensor: DispatchTensor) -> FloatTensor<B>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    let tensor = <DispatchTensor as DispatchKindConversion<B>>::try_into_backend(tensor);
    tensor.expect("all inputs are on one device").float()
}

/// The gradient of an operation in Burn's graph.
#[derive(Debug)]
struct ByHand<O>(O);

impl<O: Operation<N>, const N: usize> Backward<Flex, N> for ByHand<O> {
    type State = O::Saved;

    fn backward(self, ops: Ops<O::Saved, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let of_inputs = self.0.backward(ops.state, gradient);
        for (node, gradient) in ops.parents.into_iter().zip(of_inputs) {
            if let Some(node) = node {
                gradients.register::<Flex>(node.id, gradient);
            }
        }
    }
}

/// The numbers of a contiguous tensor.
fn floats(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect(FLOATS)
}

/// Lets a kernel change the numbers of a tensor; they are copied only if they are shared.
fn change<R>(tensor: FlexTensor, kernel: impl FnOnce(&mut [f32]) -> R) -> (FlexTensor, R) {
    let mut data = tensor.into_data();
    let result = kernel(data.as_mut_slice().expect(FLOATS));
    (FlexTensor::from_data(data), result)
}

fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    /// Numbers of a shape, irregular and around 0, on the CPU with autodiff.
    pub(crate) fn numbers(shape: [usize; 3], seed: f32) -> Tensor<3> {
        let len: usize = shape.iter().product();
        let values = (0..len).map(|i| 2.0 * (i as f32 * 0.618 + seed).sin());
        let data = TensorData::new(values.collect::<Vec<f32>>(), shape);
        Tensor::from_data(data, &device::with_gradients(&device::cpu()))
    }

    /// Compares two forms of one operation: their outputs, with autodiff and without, and the gradients of
    /// all inputs under a loss that weighs each output differently.
    pub(crate) fn assert_same<const N: usize>(
        shapes: [[usize; 3]; N],
        fused: impl Fn([Tensor<3>; N]) -> Tensor<3>,
        composed: impl Fn([Tensor<3>; N]) -> Tensor<3>,
    ) {
        let inputs: [_; N] = std::array::from_fn(|i| numbers(shapes[i], i as f32).require_grad());
        let run = |form: &dyn Fn([Tensor<3>; N]) -> Tensor<3>| -> Vec<Vec<f32>> {
            let plain = form(inputs.clone().map(Tensor::inner));
            let output = form(inputs.clone());
            let weights = numbers(output.dims(), 0.3);
            let gradients = (output.clone() * weights).sum().backward();
            let of_inputs = inputs.each_ref().map(|input| input.grad(&gradients).unwrap());
            [plain, output.inner()]
                .into_iter()
                .chain(of_inputs)
                .map(|tensor| tensor.into_data().try_into_vec_as().unwrap())
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

    const INPUTS: [f32; 8] = [-6.0, -1.5, -0.1, 0.0, 0.3, 1.0, 2.0, 5.0];

    fn applied(activation: fn(Tensor<3>) -> Tensor<3>) -> Vec<f32> {
        let inputs = Tensor::<1>::from_floats(INPUTS, &device::cpu()).unsqueeze::<3>();
        activation(inputs).into_data().try_into_vec_as().unwrap()
    }

    #[test]
    fn gelu_matches_its_definition() {
        let outputs = applied(gelu);
        for (x, y) in INPUTS.map(f64::from).into_iter().zip(outputs) {
            let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            let wanted = 0.5 * x * (1.0 + u.tanh());
            assert!((f64::from(y) - wanted).abs() < 1e-6, "{x}: {y} {wanted}");
        }
    }

    #[test]
    fn swiglu_matches_its_definition() {
        let (gates, values) = INPUTS.split_at(4);
        let outputs = applied(swiglu);
        assert_eq!(outputs.len(), 4);
        for (i, got) in outputs.into_iter().enumerate() {
            let gate = f64::from(gates[i]);
            let wanted = gate / (1.0 + (-gate).exp()) * f64::from(values[i]);
            assert!((f64::from(got) - wanted).abs() < 1e-6, "{got} {wanted}");
        }
    }
}
