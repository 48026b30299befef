//! Cross-entropy at the output head, a few rows at a time.
//!
//! All logits of a step would be the largest tensor of the whole network (4,096 x 6,289 numbers
//! are 103 MB) and would be passed over several times. Here the logits of a chunk of rows are computed, turned
//! into their gradients and forgotten while they are still in a cache. The gradients are written
//! by hand, outside autodiff: with p = softmax(h W^T), the gradient of a row's cross-entropy with
//! respect to its logits is p - onehot(target).

use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData, activation::log_softmax};
use tang_kernels::cross_entropy_gradient;
use tang_model::{FLOATS, device::is_cpu};
use tang_tokenizer::TokenId;

/// Rows whose logits are computed at once.
pub const CHUNK_ROWS: usize = 512;

/// The loss of all rows, and its gradients.
pub(crate) struct HeadLoss {
    /// Sum of the nats of all targets, without their weights.
    pub nats: f64,
    /// Gradient of the weighted sum with respect to the hidden states, `[rows, width]`.
    pub hidden_gradient: Tensor<2>,
    /// Gradient of it with respect to the output head, `[vocab_size, width]`.
    pub head_gradient: Tensor<2>,
}

/// The cross-entropy of each row and its target, and the gradients of the sum of them, each times its weight.
///
/// # Shapes
///
/// - hidden: `[rows, width]`, on a device without autodiff
/// - head: `[vocab_size, width]`, likewise
/// - targets, weights: `[rows]`
pub(crate) fn head_loss(
    hidden: Tensor<2>,
    head: Tensor<2>,
    targets: &[TokenId],
    weights: &[f32],
) -> HeadLoss {
    let gradient = if is_cpu(&hidden.device()) { logit_gradient_by_kernel } else { logit_gradient };
    let mut nats = Vec::with_capacity(targets.len());
    let mut hidden_gradients = Vec::new();
    let mut head_gradient: Option<Tensor<2>> = None;
    let targets = targets.chunks(CHUNK_ROWS).zip(weights.chunks(CHUNK_ROWS));
    for (hidden, (targets, weights)) in hidden.split(CHUNK_ROWS, 0).into_iter().zip(targets) {
        let gradient = gradient(logits(&hidden, &head), targets, weights, &mut nats);
        hidden_gradients.push(gradient.clone().matmul(head.clone()));
        let own = gradient.transpose().matmul(hidden);
        head_gradient = Some(match head_gradient {
            Some(sum) => sum + own,
            None => own,
        });
    }
    HeadLoss {
        nats: nats.iter().sum(),
        hidden_gradient: Tensor::cat(hidden_gradients, 0),
        head_gradient: head_gradient.expect("a batch has at least one row"),
    }
}

/// The gradient of the nats of each row, times its weight, with respect to the logits, `[rows, vocab_size]`;
/// appends the nats of each row. The logits are not shared, so the host takes them without a copy.
fn logit_gradient_by_kernel(
    logits: Tensor<2>,
    targets: &[TokenId],
    weights: &[f32],
    nats: &mut Vec<f64>,
) -> Tensor<2> {
    let (device, [_, vocab_size]) = (logits.device(), logits.dims());
    let mut logits = logits.into_data();
    let values = logits.as_mut_slice().expect(FLOATS);
    cross_entropy_gradient(values, vocab_size, targets, weights, nats);
    Tensor::from_data(logits, &device)
}

/// The same by tensor operations; the host reads the nats only.
fn logit_gradient(
    logits: Tensor<2>,
    targets: &[TokenId],
    weights: &[f32],
    nats: &mut Vec<f64>,
) -> Tensor<2> {
    let targets = column(targets, &logits.device());
    let log_probs = log_softmax(logits, 1);
    let of_targets = log_probs.clone().gather(1, targets.clone());
    let minus_one = of_targets.full_like(-1.0);
    let probabilities = log_probs.exp();
    let gradient = probabilities.scatter(1, targets, minus_one, IndexingUpdateOp::Add);
    nats.extend(of_targets.neg().into_data().iter::<f64>());
    let weights = TensorData::new(weights.to_vec(), [weights.len(), 1]);
    let device = gradient.device();
    gradient * Tensor::from_data(weights, &device)
}

/// Logits of all tokens, `[rows, vocab_size]`.
fn logits(hidden: &Tensor<2>, head: &Tensor<2>) -> Tensor<2> {
    hidden.clone().matmul(head.clone().transpose())
}

/// Tokens as a column of indices, `[rows, 1]`.
fn column(tokens: &[TokenId], device: &Device) -> Tensor<2, Int> {
    let data: Vec<i32> = tokens.iter().map(|token| *token as i32).collect();
    Tensor::from_data(TensorData::new(data, [tokens.len(), 1]), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More rows than one chunk holds, and not a multiple of it.
    const ROWS: usize = CHUNK_ROWS + 37;

    fn tensor(shape: [usize; 2], device: &Device) -> Tensor<2> {
        let values: Vec<f32> = (0..shape[0] * shape[1]).map(|i| (i as f32 * 0.618).sin()).collect();
        Tensor::from_data(TensorData::new(values, shape), device)
    }

    fn to_vec(tensor: Tensor<2>) -> Vec<f32> {
        tensor.into_data().try_into_vec_as().unwrap()
    }

    #[test]
    fn equals_autodiff_through_the_whole_logits() {
        let device = tang_model::device::cpu();
        let targets: Vec<TokenId> = (0..ROWS as u32).map(|i| (i * 7) % 11).collect();
        let hidden = tensor([ROWS, 6], &device);
        let head = tensor([11, 6], &device);
        let weights: Vec<f32> = (0..ROWS).map(|i| (1 + i % 3) as f32 / ROWS as f32).collect();
        let ours = head_loss(hidden, head, &targets, &weights);

        let autodiff = tang_model::device::with_gradients(&device);
        let hidden = tensor([ROWS, 6], &autodiff).require_grad();
        let head = tensor([11, 6], &autodiff).require_grad();
        let logits = hidden.clone().matmul(head.clone().transpose());
        let index = column(&targets, &hidden.device());
        let nats = log_softmax(logits, 1).gather(1, index).neg();
        let data = TensorData::new(weights, [ROWS, 1]);
        let weights = Tensor::<2>::from_data(data, &hidden.device());
        let gradients = (nats.clone() * weights).sum().backward();

        let value: f32 = nats.sum().inner().into_scalar();
        assert!((f64::from(value) - ours.nats).abs() < 1e-6 * ours.nats);
        for (got, wanted) in [
            (ours.hidden_gradient, hidden.grad(&gradients).unwrap()),
            (ours.head_gradient, head.grad(&gradients).unwrap()),
        ] {
            for (a, b) in to_vec(got).into_iter().zip(to_vec(wanted)) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
    }

    #[test]
    fn tensor_operations_and_the_kernel_agree() {
        let device = tang_model::device::cpu();
        let targets: Vec<TokenId> = (0..ROWS as u32).map(|i| (i * 7) % 11).collect();
        let (hidden, head) = (tensor([ROWS, 6], &device), tensor([11, 6], &device));
        let weights: Vec<f32> = (0..ROWS).map(|i| (i % 5) as f32).collect();
        let run = |gradient: fn(_, _, _, &mut Vec<f64>) -> Tensor<2>| {
            let mut nats = Vec::new();
            let gradient = gradient(logits(&hidden, &head), &targets[..], &weights[..], &mut nats);
            (to_vec(gradient), nats)
        };
        let (got, wanted) = (run(logit_gradient), run(logit_gradient_by_kernel));
        assert_eq!((got.1.len(), wanted.1.len()), (ROWS, ROWS));
        let gradients = got.0.iter().zip(&wanted.0);
        assert!(gradients.into_iter().all(|(a, b)| (a - b).abs() < 1e-6));
        let nats = got.1.iter().zip(&wanted.1);
        assert!(nats.into_iter().all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
