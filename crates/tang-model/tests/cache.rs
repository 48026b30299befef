//! The cache changes the amount of work and nothing else.

use burn::tensor::{Device, Int, Tensor, TensorData};
use tang_model::{KvCache, ModelConfig, ModelError, Transformer, Weights, device};

const TOLERANCE: f32 = 1e-5;
const CONTEXT: usize = 16;
const VOCABULARY: usize = 23;

/// One model of each kind: multi-head with learned positions; multi-head, grouped and multi-query
/// with rotary ones.
fn models() -> Vec<Transformer> {
    let small = |config| ModelConfig {
        context: CONTEXT,
        width: 16,
        layers: 3,
        feed_forward_width: 40,
        ..config
    };
    let llama = |kv_heads| ModelConfig {
        kv_heads,
        ..small(ModelConfig::minimind_4l(VOCABULARY))
    };
    let gpt2 = small(ModelConfig::tang_4l(VOCABULARY));
    [gpt2, llama(4), llama(2), llama(1)].map(model).to_vec()
}

fn model(config: ModelConfig) -> Transformer {
    // Trained weights are far from their small starting values; these are, too.
    let mut weights = Weights::default();
    for (n, spec) in tang_model::parameters(&config).into_iter().enumerate() {
        let values = (0..spec.numel())
            .map(|i| ((i * 7919 + n * 104_729) as f32 * 0.618).sin() * 0.5)
            .collect();
        weights.insert(spec.path, spec.shape, values);
    }
    Transformer::new(config, weights, &device::cpu()).unwrap()
}

fn tokens(seed: usize, count: usize) -> Vec<i32> {
    (0..count)
        .map(|i| ((i * i * 5 + i * 3 + seed * 11) % VOCABULARY) as i32)
        .collect()
}

fn ids(rows: &[&[i32]], device: &Device) -> Tensor<2, Int> {
    let data = TensorData::new(rows.concat(), [rows.len(), rows[0].len()]);
    Tensor::from_data(data, device)
}

/// Logits of every row and position: `[row][position][token]`.
fn logits(model: &Transformer, rows: &[&[i32]], cache: Option<&mut KvCache>) -> Vec<Vec<Vec<f32>>> {
    let hidden = model.forward(ids(rows, &device::cpu()), cache).unwrap();
    let [batch, length, width] = hidden.dims();
    let flat: Vec<f32> = model
        .logits(hidden.reshape([batch * length, width]))
        .into_data()
        .try_into_vec_as()
        .unwrap();
    flat.chunks(length * VOCABULARY)
        .map(|row| row.chunks(VOCABULARY).map(<[f32]>::to_vec).collect())
        .collect()
}

fn single(model: &Transformer, row: &[i32], cache: Option<&mut KvCache>) -> Vec<Vec<f32>> {
    logits(model, &[row], cache).remove(0)
}

#[track_caller]
fn assert_close(got: &[Vec<f32>], wanted: &[Vec<f32>], what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    for (position, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        for (a, b) in got.iter().zip(wanted) {
            assert!((a - b).abs() < TOLERANCE, "{what} at {position}: {a} {b}");
        }
    }
}

fn new_cache(model: &Transformer, batch: usize) -> KvCache {
    KvCache::new(model.config(), batch, CONTEXT, &device::cpu())
}

#[test]
fn logits_of_different_positions_differ() {
    // Without this, the comparisons below could pass on a network that ignores its input.
    for model in models() {
        let full = single(&model, &tokens(0, 4), None);
        assert!((full[1][0] - full[2][0]).abs() > 100.0 * TOLERANCE);
    }
}

#[test]
fn no_position_sees_a_later_one() {
    for model in models() {
        let mut row = tokens(0, CONTEXT);
        let before = single(&model, &row, None);
        for changed in (1..CONTEXT).rev() {
            row[changed] = (row[changed] + 1) % VOCABULARY as i32;
            let after = single(&model, &row, None);
            assert_eq!(before[..changed], after[..changed]);
            assert_ne!(before[changed], after[changed]);
        }
    }
}

#[test]
fn prefill_in_pieces_equals_the_full_forward() {
    for model in models() {
        for length in 1..=CONTEXT {
            let row = tokens(1, length);
            let full = single(&model, &row, None);
            for cut in 0..=length {
                let mut cache = new_cache(&model, 1);
                let mut pieces = Vec::new();
                for piece in [&row[..cut], &row[cut..]] {
                    if !piece.is_empty() {
                        pieces.extend(single(&model, piece, Some(&mut cache)));
                    }
                }
                assert_close(&pieces, &full, &format!("length {length}, cut {cut}"));
                assert_eq!(cache.lengths(), [length]);
            }
        }
    }
}

#[test]
fn token_by_token_equals_the_full_forward() {
    for model in models() {
        let row = tokens(2, CONTEXT);
        let full = single(&model, &row, None);
        let mut cache = new_cache(&model, 1);
        let steps: Vec<_> = row
            .iter()
            .flat_map(|token| single(&model, &[*token], Some(&mut cache)))
            .collect();
        assert_close(&steps, &full, "token by token");
    }
}

#[test]
fn rows_of_different_lengths_do_not_see_each_other() {
    for model in models() {
        let rows = [tokens(3, 5), tokens(4, 2), tokens(5, 9)];
        // Prefill to the longest row, padded behind, then forget the padding.
        let longest = 9;
        let padded: Vec<Vec<i32>> = rows
            .iter()
            .map(|row| [row.clone(), vec![0; longest - row.len()]].concat())
            .collect();
        let padded: Vec<&[i32]> = padded.iter().map(Vec::as_slice).collect();
        let mut cache = new_cache(&model, 3);
        let prefilled = logits(&model, &padded, Some(&mut cache));
        cache.truncate(&[5, 2, 9]);

        // Two more passes: one token a row, then three.
        let next = [tokens(6, 4), tokens(7, 4), tokens(8, 4)];
        let pass = |range: std::ops::Range<usize>, cache: &mut KvCache| {
            let rows: Vec<&[i32]> = next.iter().map(|row| &row[range.clone()]).collect();
            logits(&model, &rows, Some(cache))
        };
        let first = pass(0..1, &mut cache);
        let second = pass(1..4, &mut cache);
        assert_eq!(cache.lengths(), [9, 6, 13]);

        for r in 0..3 {
            let alone = single(&model, &[rows[r].as_slice(), &next[r]].concat(), None);
            let batched = [
                &prefilled[r][..rows[r].len()],
                first[r].as_slice(),
                second[r].as_slice(),
            ]
            .concat();
            assert_close(&batched, &alone, &format!("row {r}"));
        }
    }
}

#[test]
fn selected_rows_go_on_where_they_were() {
    for model in models() {
        let (a, b) = (tokens(9, 6), tokens(10, 6));
        let mut cache = new_cache(&model, 2);
        logits(&model, &[&a[..5], &b[..5]], Some(&mut cache));
        cache.truncate(&[5, 4]);
        cache.select(&[1, 0, 1]);
        assert_eq!(cache.lengths(), [4, 5, 4]);
        let next = logits(&model, &[&b[4..5], &a[5..6], &b[5..6]], Some(&mut cache));

        let wanted = |row: &[i32]| single(&model, row, None).pop().unwrap();
        let other = [&b[..4], &b[5..6]].concat();
        for (got, row) in next.iter().zip([&b[..5], &a[..6], &other]) {
            assert_close(got, &[wanted(row)], "selected");
        }
    }
}

#[test]
fn capacity_is_a_hard_stop() {
    for model in models() {
        let row = tokens(11, CONTEXT);
        let mut cache = new_cache(&model, 1);
        single(&model, &row[..CONTEXT - 1], Some(&mut cache));
        let last = single(&model, &row[CONTEXT - 1..], Some(&mut cache));
        assert_close(&last, &single(&model, &row, None)[CONTEXT - 1..], "last");

        let one_more = model.forward(ids(&[&[0]], &device::cpu()), Some(&mut cache));
        let error = one_more.unwrap_err();
        assert!(
            matches!(
                error,
                ModelError::ContextFull {
                    held: 16,
                    added: 1,
                    capacity: 16
                }
            ),
            "{error}"
        );
        assert_eq!(cache.lengths(), [CONTEXT], "a refused pass changes nothing");

        let long = [row.as_slice(), &[0]].concat();
        let error = model
            .forward(ids(&[&long], &device::cpu()), None)
            .unwrap_err();
        assert!(
            matches!(
                error,
                ModelError::TextTooLong {
                    length: 17,
                    context: 16
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn bytes_are_counted() {
    for model in models() {
        let mut cache = KvCache::new(model.config(), 2, 10, &device::cpu());
        // 2 (keys, values) x 3 layers x kv_heads x 4 wide x 4 bytes
        let token = 2 * 3 * model.config().kv_heads * 4 * 4;
        assert_eq!(cache.allocated_bytes(), 2 * 10 * token);
        assert_eq!(cache.used_bytes(), 0);
        logits(&model, &[&tokens(0, 7), &tokens(1, 7)], Some(&mut cache));
        cache.truncate(&[7, 3]);
        assert_eq!(cache.used_bytes(), 10 * token);
    }
}

#[test]
fn untrained_loss_is_that_of_a_uniform_guess() {
    for config in [ModelConfig::tang_4l(6289), ModelConfig::minimind_4l(6289)] {
        let model = Transformer::new(config, Weights::random(&config, 0), &device::cpu()).unwrap();
        let row: Vec<i32> = (0..64).map(|i| (i * 97) % 6289).collect();
        let hidden = model
            .forward(ids(&[&row[..63]], &device::cpu()), None)
            .unwrap();
        let flat: Vec<f32> = model
            .logits(hidden.reshape([63, 128]))
            .into_data()
            .try_into_vec_as()
            .unwrap();
        let loss: f64 = flat
            .chunks(6289)
            .zip(&row[1..])
            .map(|(logits, target)| {
                let sum: f64 = logits.iter().map(|l| f64::from(*l).exp()).sum();
                sum.ln() - f64::from(logits[*target as usize])
            })
            .sum::<f64>()
            / 63.0;
        let uniform = 6289_f64.ln();
        assert!((loss / uniform - 1.0).abs() < 0.05, "{loss} {uniform}");
    }
}
