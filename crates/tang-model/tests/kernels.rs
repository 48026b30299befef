//! The kernels give what plain tensor operations give. An autodiff device has no kernels, so a
//! network on it is the reference.

use burn::tensor::{Device, Int, Tensor, TensorData};
use tang_model::{KvCache, ModelConfig, Transformer, Weights, device};

const TOLERANCE: f32 = 1e-4;
const VOCABULARY: usize = 301;

/// Both families in their own sizes; and sizes that fill no vector.
fn configs() -> [ModelConfig; 4] {
    let odd = |config| ModelConfig {
        width: 36,
        heads: 6,
        kv_heads: 6,
        feed_forward_width: 50,
        layers: 2,
        context: 40,
        ..config
    };
    let (gpt2, llama) = (
        ModelConfig::tang_4l(VOCABULARY),
        ModelConfig::minimind_4l(VOCABULARY),
    );
    let shared = ModelConfig {
        kv_heads: 2,
        tied_head: false,
        ..odd(llama)
    };
    [gpt2, llama, odd(gpt2), shared]
}

/// The same network with kernels and without.
fn networks(config: ModelConfig) -> [Transformer; 2] {
    let mut weights = Weights::default();
    for (n, spec) in tang_model::parameters(&config).into_iter().enumerate() {
        // Trained weights are far from their small starting values; these are, too.
        let values = (0..spec.numel())
            .map(|i| ((i * 7919 + n * 104_729) as f32 * 0.618).sin() * 0.2)
            .collect();
        weights.insert(spec.path, spec.shape, values);
    }
    [device::cpu(), device::cpu().autodiff()]
        .map(|device| Transformer::new(config, weights.clone(), &device).unwrap())
}

fn ids(rows: usize, length: usize, seed: usize, device: &Device) -> Tensor<2, Int> {
    let ids: Vec<i32> = (0..rows * length)
        .map(|i| ((i * i * 5 + i * 3 + seed * 11) % VOCABULARY) as i32)
        .collect();
    Tensor::from_data(TensorData::new(ids, [rows, length]), device)
}

/// Logits behind every token.
fn logits(model: &Transformer, ids: Tensor<2, Int>, cache: Option<&mut KvCache>) -> Vec<f32> {
    let hidden = model.forward(ids, cache).unwrap();
    let [rows, length, width] = hidden.dims();
    let logits = model.logits(hidden.reshape([rows * length, width]));
    logits.into_data().try_into_vec_as().unwrap()
}

#[track_caller]
fn assert_close([got, wanted]: [Vec<f32>; 2], what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    for (i, (a, b)) in got.iter().zip(&wanted).enumerate() {
        assert!((a - b).abs() < TOLERANCE, "{what}, {i}: {a} {b}");
    }
}

#[test]
fn without_a_cache() {
    for config in configs() {
        let networks = networks(config);
        // Few rows are multiplied otherwise than many.
        for (rows, length) in [(1, 1), (1, 7), (2, 4), (5, 1), (1, 31), (3, 20)] {
            let logits = networks
                .each_ref()
                .map(|model| logits(model, ids(rows, length, 1, &model.device()), None));
            let family = config.family.name();
            assert_close(logits, &format!("{family}, {rows} x {length}"));
        }
    }
}

#[test]
fn with_a_cache_whose_rows_have_their_own_lengths() {
    for config in configs() {
        let networks = networks(config);
        let mut caches = networks
            .each_ref()
            .map(|model| KvCache::new(&config, 5, 40, &model.device()));
        let mut step = |rows, length, seed, keep: &dyn Fn(&mut KvCache)| {
            let mut both = networks.iter().zip(&mut caches);
            let logits = std::array::from_fn(|_| {
                let (model, cache) = both.next().unwrap();
                let ids = ids(rows, length, seed, &model.device());
                let logits = logits(model, ids, Some(cache));
                keep(cache);
                logits
            });
            assert_close(logits, &format!("{:?}, step {seed}", config.family));
        };
        step(5, 6, 0, &|cache| cache.truncate(&[6, 2, 5, 6, 3]));
        step(5, 1, 1, &|_| {});
        // Dropped in order: the others close up.
        step(5, 3, 2, &|cache| cache.select(&[0, 2, 4]));
        step(3, 1, 3, &|_| {});
        // Reordered and doubled.
        step(3, 1, 4, &|cache| cache.select(&[2, 0, 0, 1]));
        step(4, 1, 5, &|cache| cache.clear());
        step(4, 2, 6, &|_| {});
        assert_eq!(caches[0].lengths(), [2; 4]);
    }
}

#[test]
fn a_cache_that_grows_gives_what_a_whole_one_gives() {
    for config in configs() {
        for model in networks(config) {
            let device = model.device();
            let capacity_for = |tokens| KvCache::capacity_for(&config, tokens, &device);
            assert_eq!([1, 16, 17].map(capacity_for), [16, 16, 32]);
            assert_eq!(capacity_for(usize::MAX), config.context);
            let mut whole = KvCache::new(&config, 3, config.context, &device);
            let mut growing = KvCache::new(&config, 3, 16, &device);
            for (step, length) in [9, 1, 6, 1, 14, 1, 8].into_iter().enumerate() {
                // Through the second block into the third, which not all of these contexts fill.
                let wanted = growing.lengths().iter().max().unwrap() + length;
                growing.grow(capacity_for(wanted));
                let [held, all] = [&mut growing, &mut whole].map(|cache| {
                    let logits = logits(&model, ids(3, length, step, &device), Some(cache));
                    let lengths = cache.lengths().to_vec();
                    // Ragged after the first step.
                    cache.truncate(&[lengths[0], lengths[1] - usize::from(step == 0), lengths[2]]);
                    logits
                });
                if !device.is_autodiff() {
                    assert_eq!(held, all, "{:?}, step {step}", config.family);
                }
                assert_close([held, all], &format!("{:?}, step {step}", config.family));
            }
            assert_eq!(growing.lengths(), [40, 39, 40]);
            assert_eq!(growing.capacity(), 48.min(config.context));
            assert_eq!(growing.used_bytes(), whole.used_bytes());
        }
    }
}

#[test]
#[should_panic(expected = "a cache of 10 places cannot grow")]
fn a_cache_of_broken_blocks_cannot_grow() {
    let config = ModelConfig::tang_4l(VOCABULARY);
    KvCache::new(&config, 1, 10, &device::cpu()).grow(32);
}

#[test]
fn one_thread_gives_what_two_give() {
    let (gpt2, llama) = (
        ModelConfig::tang_4l(VOCABULARY),
        ModelConfig::minimind_4l(VOCABULARY),
    );
    let with = |kv_heads| ModelConfig { kv_heads, ..llama };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1);
    let one = one.build().unwrap();
    let two = rayon::ThreadPoolBuilder::new().num_threads(2);
    let two = two.build().unwrap();
    for config in [gpt2, with(4), with(2), with(1)] {
        let [model, _] = networks(config);
        // One row and a few, of several lengths.
        let text = |rows| {
            let mut cache = KvCache::new(&config, rows, 64, &model.device());
            let lengths = [3, 1, 1, 2].into_iter().chain([1; 30]);
            let steps = lengths.enumerate().map(|(step, length)| {
                let ids = ids(rows, length, step, &model.device());
                logits(&model, ids, Some(&mut cache))
            });
            steps.collect::<Vec<_>>()
        };
        for rows in [1, 3] {
            let (alone, pair) = (one.install(|| text(rows)), two.install(|| text(rows)));
            assert_eq!(
                alone, pair,
                "{:?}, {} heads",
                config.family, config.kv_heads
            );
        }
        let written = || logits(&model, ids(1, 40, 1, &model.device()), None);
        assert_eq!(one.install(written), two.install(written));
    }
}
